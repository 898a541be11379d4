// Load the English texts before each test file.

import { add } from "./catalogues.ts";
import en from "./en.json";

add("en", en);
