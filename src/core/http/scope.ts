/** Within what a key is unique, as messages whose keyed digests name things. Length-prefixed: no two scopes share a message. */
import { writeMessage } from "../bytes.ts";

const SCOPE_VERSION = "oncegate-scope-v1";

/** Names the key object. */
export function nameMessage(route: string, principal: readonly string[], key: string): Uint8Array {
  return writeMessage([SCOPE_VERSION, "key", route, String(principal.length), ...principal, key]);
}

/** Names the owner of an operation, for status reads. */
export function ownerMessage(route: string, principal: readonly string[]): Uint8Array {
  return writeMessage([SCOPE_VERSION, "owner", route, String(principal.length), ...principal]);
}
