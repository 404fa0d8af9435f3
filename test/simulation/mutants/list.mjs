/** All mutants, by where their fault is. */
import { FENCING } from "./fencing.mjs";

export const MUTANTS = [...FENCING];
