// Aim: notes and keys are read as C2SP signed-note says. Method: the published example of the Go implementation, and mangled copies of it.
import { describe, expect, it } from "vitest";
import { isSignedBy, readCheckpoint, readVerifierKey } from "../../../src/verify/note.mjs";
import { makeKey, signNote } from "../../support/ledger-log.ts";

const VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const TEXT =
  "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const SIGNATURE =
  "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const NOTE = `${TEXT}\n${SIGNATURE}`;

function isSigned(note: string, vkey = VKEY): boolean {
  const key = readVerifierKey(vkey);
  if (key === null) throw new Error("no key");
  return isSignedBy(note, key);
}

describe("a verifier key", () => {
  it("of the published example is read", () => {
    expect(readVerifierKey(VKEY)?.name).toBe("PeterNeumann");
  });

  it.each([
    ["without its hash", VKEY.replace("+c74f20a3", "")],
    ["with another hash", VKEY.replace("c74f20a3", "c74f20a4")],
    ["with another name", VKEY.replace("Peter", "Petra")],
    ["of another algorithm", VKEY.replace("+AR", "+Ah")],
    ["that is too short", VKEY.slice(0, -4)],
    ["with a space in its name", VKEY.replace("PeterN", "Peter N")],
  ])("%s is refused", (_what, vkey) => {
    expect(readVerifierKey(vkey)).toBeNull();
  });
});

describe("a note", () => {
  it("of the published example is signed by its key", () => {
    expect(isSigned(NOTE)).toBe(true);
  });

  it("may carry signatures by others", () => {
    const other = signNote(TEXT, makeKey("another")).slice(TEXT.length + 1);

    expect(isSigned(`${TEXT}\n${other}${SIGNATURE}`)).toBe(true);
    expect(isSigned(`${TEXT}\n${other}`)).toBe(false);
  });

  it.each([
    ["with another text", NOTE.replace("think", "thank")],
    ["with another signature", NOTE.replace("JnAM=", "JnAQ=")],
    ["without signatures", `${TEXT}\n`],
    ["without the empty line", `${TEXT}${SIGNATURE}`],
    ["without its last line feed", NOTE.slice(0, -1)],
    ["with a good and a bad signature by the same key", `${NOTE}${SIGNATURE.replace("JnAM=", "JnAQ=")}`],
    ["with a signature line of another form", NOTE.replace("\u2014", "-")],
    ["with a control character", NOTE.replace("think", "thi\u0000nk")],
  ])("%s is not signed", (_what, note) => {
    expect(isSigned(note)).toBe(false);
  });
});

describe("a checkpoint", () => {
  const root = Buffer.alloc(32, 7).toString("base64");
  const key = makeKey("log");

  it("is origin, size and root, and may say more", () => {
    const note = signNote(`log/1:0\n12\n${root}\nmore\n`, key);

    expect(readCheckpoint(note)).toEqual({ origin: "log/1:0", size: 12, root: Buffer.alloc(32, 7) });
  });

  it.each([
    ["a size with a leading zero", `log/1:0\n012\n${root}\n`],
    ["a negative size", `log/1:0\n-1\n${root}\n`],
    ["a root of another length", `log/1:0\n12\n${Buffer.alloc(31).toString("base64")}\n`],
    ["no origin", `\n12\n${root}\n`],
    ["no root", "log/1:0\n12\n"],
  ])("can't have %s", (_what, text) => {
    expect(readCheckpoint(signNote(text, key))).toBeNull();
  });
});
