/** Asks the route's own service whether a caller may have a stored answer now. Only a clear yes is a yes. */
import { AUTHORIZE_TIMEOUT_MS } from "../core/limits.ts";
import { type PrincipalRule, principalHeaders } from "../core/policy.ts";

/** Credentials that are always handed on; the fields the principal is read from come on top. */
const CREDENTIALS = ["authorization", "cookie"];

export async function isAuthorized(
  url: string,
  request: Request,
  principal: PrincipalRule,
): Promise<boolean> {
  const headers = new Headers();
  for (const name of new Set([...CREDENTIALS, ...principalHeaders(principal)])) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  try {
    const signal = AbortSignal.timeout(AUTHORIZE_TIMEOUT_MS);
    const response = await fetch(url, { headers, redirect: "manual", signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
