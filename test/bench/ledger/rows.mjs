/** What the ledger has to keep up with. Each row measures one thing, prints it with its aim and resolves to what it found. */
import { measureAppend, measureRows } from "./append.mjs";
import { measureReconcile } from "./reconcile.mjs";
import { measureVerify } from "./verify.mjs";

export const LEDGER_ROWS = [
  { id: "ledger-append", measure: measureAppend },
  { id: "ledger-rows", measure: measureRows },
  { id: "reconcile", measure: measureReconcile },
  { id: "verify", measure: measureVerify },
];
