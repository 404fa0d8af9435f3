/** All mutants, by where their fault is. `layer`: the room of the product that is wrong. */
import { ANSWERING } from "./answering.mjs";
import { FENCING, OVERSEEING } from "./fencing.mjs";
import { KEEPING } from "./keeping.mjs";
import { LEAVING } from "./leaving.mjs";
import { RUNNING } from "./running.mjs";
import { TELLING } from "./telling.mjs";

export const MUTANTS = [
  ...FENCING,
  ...OVERSEEING,
  ...RUNNING,
  ...ANSWERING,
  ...LEAVING,
  ...TELLING,
  ...KEEPING,
];
