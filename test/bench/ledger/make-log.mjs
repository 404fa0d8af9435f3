/** Writes a sound ledger of so many entries into a SQLite file, and tells its parent the key: `make-log.mjs FILE COUNT`. */
import { makeLog, storeLogs } from "../../support/ledger-log.ts";

const [file, count] = process.argv.slice(2);
const log = makeLog(Number(count), Number(count));
storeLogs([log], file).close();
process.send(log.key.vkey);
