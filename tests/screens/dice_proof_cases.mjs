// Verifies proofs of dice as the player's page does. `node dice_proof_cases.mjs FILE`, with a JSON list of proofs;
// prints the list of verifications.

import { readFileSync } from "node:fs";
import { verifyDice } from "../../screens/src/pages/player/diceProof.ts";

const proofs = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = [];
for (const { proof, player, seen } of proofs) found.push(await verifyDice(proof, player, seen));
console.log(JSON.stringify(found));
