/** SHA-256 as lower-case hex. */
import { toHex } from "./bytes.ts";

export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
