// Loads the English texts before each file of tests.

import { add } from "./catalogues.ts";
import en from "./en.json";

add("en", en);
