/** The deployment's secrets as digests and keys. Each use has a key of its own, derived by its label (RFC 5869). */
import { encodeUtf8, toBase64Url, toHex, writeMessage } from "../core/bytes.ts";
import type { Secrets } from "../core/policy.ts";
import type { DataKeyUse, Keyring } from "../core/ports.ts";

/** Claims, which are version, object, effect, attempt and end, and their mac. An effect's id has no dot. */
const EFFECT_TOKEN =
  /^(v1\.([A-Za-z0-9_-]{43})\.([0-9a-f]{1,64})\.([1-9][0-9]{0,9})\.([1-9][0-9]{0,15}))\.([A-Za-z0-9_-]{43})$/;
const MAC_CHARS = 43;

type SealingKey = { id: string; key: CryptoKey };

async function deriveMacKey(secret: Uint8Array, label: string): Promise<CryptoKey> {
  const base = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const params = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(),
    info: encodeUtf8(`oncegate ${label} v1`),
  };
  return crypto.subtle.deriveKey(params, base, { name: "HMAC", hash: "SHA-256", length: 256 }, false, [
    "sign",
  ]);
}

async function sign(key: CryptoKey, message: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
}

async function mac(key: CryptoKey, message: Uint8Array): Promise<string> {
  return toBase64Url(await sign(key, message));
}

async function sealingKey(secret: Uint8Array): Promise<SealingKey> {
  const key = await deriveMacKey(secret, "sealing");
  return { id: (await mac(key, encodeUtf8("id"))).slice(0, 8), key };
}

/** Derives every key once. The result holds no request's data and may be shared by all requests of an isolate. */
export async function makeKeyring(secrets: Pick<Secrets, "naming" | "sealing">): Promise<Keyring> {
  const of = (label: string): Promise<CryptoKey> => deriveMacKey(secrets.naming, label);
  const [name, fingerprint, owner, tag, effectToken, originKey, stream] = await Promise.all([
    of("name"),
    of("fingerprint"),
    of("owner"),
    of("operation"),
    of("effect-token"),
    of("origin-key"),
    of("stream"),
  ]);
  const sealing = await Promise.all(secrets.sealing.map(sealingKey));

  async function dataKey({ id, salt, secret }: DataKeyUse): Promise<{ id: string; key: CryptoKey } | null> {
    const found = id === "newest" ? sealing[0] : sealing.find((candidate) => candidate.id === id.named);
    if (found === undefined) return null;
    const bits = await crypto.subtle.sign("HMAC", found.key, writeMessage(["data", salt, secret]));
    const key = await crypto.subtle.importKey("raw", bits, "AES-GCM", false, ["encrypt", "decrypt"]);
    return { id: found.id, key };
  }

  return {
    name: (message) => mac(name, message),
    fingerprint: async (message) => toHex(await sign(fingerprint, message)),
    owner: (message) => mac(owner, message),
    tag: async (object) => (await mac(tag, encodeUtf8(object))).slice(0, 11),
    stream: async (object, inc) => toHex(await sign(stream, writeMessage([object, inc]))),
    originKey: (object) => mac(originKey, encodeUtf8(object)),
    async effectToken(object, effect, n, expiresAt) {
      const claims = `v1.${object}.${effect}.${n}.${expiresAt}`;
      return `${claims}.${await mac(effectToken, encodeUtf8(claims))}`;
    },
    async readEffectToken(token, now) {
      const [, claims = "", object, effect, n, expiresAt, given = ""] = EFFECT_TOKEN.exec(token) ?? [];
      const wanted = encodeUtf8(await mac(effectToken, encodeUtf8(claims)));
      const isOurs = given.length === MAC_CHARS && crypto.subtle.timingSafeEqual(encodeUtf8(given), wanted);
      if (!isOurs || object === undefined || effect === undefined || Number(expiresAt) <= now) return null;
      return { name: object, effect, n: Number(n) };
    },
    dataKey,
  };
}
