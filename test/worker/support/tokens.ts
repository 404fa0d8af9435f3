/** Signed tokens of callers, good ones and others. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { JWT_CLAIMS } from "./routes.ts";

type Changes = Readonly<{ claims?: JWTPayload; issuer?: string; audience?: string; expiresAt?: number }>;

function makeToken({ claims = { sub: "alice" }, issuer, audience, expiresAt }: Changes): SignJWT {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT(claims)
    .setIssuer(issuer ?? JWT_CLAIMS.issuer)
    .setAudience(audience ?? JWT_CLAIMS.audience)
    .setIssuedAt(now)
    .setJti(crypto.randomUUID())
    .setExpirationTime(expiresAt ?? now + 300);
}

/** A token under an HMAC secret held as text. */
export function signWithSecret(secret: string, changes: Changes = {}, alg = "HS256"): Promise<string> {
  return makeToken(changes).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret));
}

/** A token that says it needs no signature (RFC 7519 section 6). */
export function makeUnsigned(): string {
  const now = Math.floor(Date.now() / 1_000);
  const { issuer: iss, audience: aud } = JWT_CLAIMS;
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ iss, aud, sub: "alice", iat: now, exp: now + 300 })}.`;
}

export type Signer = { jwk: JWK; sign: (changes?: Changes) => Promise<string> };

/** A key pair of an issuer, and tokens under it. */
export async function makeSigner(kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" },
    sign: (changes = {}) => signWithKey(privateKey, kid, changes),
  };
}

function signWithKey(key: CryptoKey, kid: string, changes: Changes): Promise<string> {
  return makeToken(changes).setProtectedHeader({ alg: "ES256", kid }).sign(key);
}
