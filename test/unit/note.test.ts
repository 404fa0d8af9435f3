// Aim: checkpoints are C2SP signed notes. Method: the published note of the format's first implementation, signed anew.
import { createPublicKey, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkpointText, generateSigningKey, makeSigner } from "../../src/ledger/note.ts";

const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

/** The example of golang.org/x/mod/sumdb/note: a private key is its type and its seed. */
const SEED = Buffer.from("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "base64").subarray(1);
const VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const SIGNATURE =
  "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";

describe("a signed note", () => {
  it("is the published one, byte for byte, and so is its verifier key", async () => {
    const signer = await makeSigner("PeterNeumann", Buffer.concat([PKCS8_HEAD, SEED]));
    expect(signer.vkey).toBe(VKEY);
    expect(await signer.sign(TEXT)).toBe(`${TEXT}\n\u2014 PeterNeumann ${SIGNATURE}\n`);
  });

  it("under a generated key holds under the verifier key it comes with", async () => {
    const signer = await makeSigner("ledger.example", await generateSigningKey());
    const text = checkpointText("ledger.example/1:0", 3, new Uint8Array(32));
    const note = await signer.sign(text);
    const [, id = "", point = ""] = /^ledger\.example\+([0-9a-f]{8})\+(.+)$/.exec(signer.vkey) ?? [];
    const typed = Buffer.from(point, "base64");
    const spki = Buffer.concat([SPKI_HEAD, typed.subarray(1)]);
    const signed = Buffer.from(/ ([^ ]+)\n$/.exec(note)?.[1] ?? "", "base64");
    const key = createPublicKey({ key: spki, format: "der", type: "spki" });
    expect([typed[0], typed.length, signed.subarray(0, 4).toString("hex")]).toEqual([1, 33, id]);
    expect(verify(null, Buffer.from(text), key, signed.subarray(4))).toBe(true);
    expect(verify(null, Buffer.from(`${text} `), key, signed.subarray(4))).toBe(false);
  });

  it("refuses a key that is none", async () => {
    await expect(makeSigner("ledger.example", new Uint8Array(48))).rejects.toThrow();
  });
});

describe("the text of a checkpoint", () => {
  it("is origin, size and root, a line each", () => {
    expect(checkpointText("pay/1:2", 20_852_163, new Uint8Array(32).fill(255))).toBe(
      `pay/1:2\n20852163\n${"/".repeat(42)}8=\n`,
    );
  });
});
