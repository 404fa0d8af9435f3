import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTarget, slashReading } from "../../src/core/http/target.ts";

describe("readTarget", () => {
  it.each([
    ["http://h/a", "/a", ""],
    ["http://h", "/", ""],
    ["http://h?x=1", "/", "?x=1"],
    ["https://h:8443/a/b?c=d", "/a/b", "?c=d"],
    ["http://h/a%2Fb", "/a%2Fb", ""],
    ["http://h/a%5cb", "/a%5cb", ""],
    ["http://h/a//b", "/a//b", ""],
    ["http://h/a/", "/a/", ""],
    ["http://h/p?q=%20+&q=2", "/p", "?q=%20+&q=2"],
    ["http://h/p?", "/p", "?"],
    ["http://h/p??", "/p", "??"],
    ["http://h/p?a=../../x&b=//y\\z", "/p", "?a=../../x&b=//y\\z"],
    ["http://h/p?u=http://a@b/", "/p", "?u=http://a@b/"],
    ["http://h/a@b:c", "/a@b:c", ""],
    ["http://h/caf\u00e9?n=\u20ac\u2028", "/caf%C3%A9", "?n=%E2%82%AC%E2%80%A8"],
    ["http://h/%252e%252e/a", "/%252e%252e/a", ""],
    ["http://h/...", "/...", ""],
    ["http://h/.a/b./..c", "/.a/b./..c", ""],
    ["http://h/100%", "/100%", ""],
    ["http://h/a;v=1/b", "/a;v=1/b", ""],
  ])("reads %s", (url, path, search) => {
    expect(readTarget(url)).toEqual({ kind: "target", path, search });
  });

  it.each([
    ["http://h/a/../b", "dot-segment"],
    ["http://h/..", "dot-segment"],
    ["http://h/a/..", "dot-segment"],
    ["http://h/./a", "dot-segment"],
    ["http://h/a/.?x", "dot-segment"],
    ["http://h/a/%2e%2e/admin", "dot-segment"],
    ["http://h/a/%2E./b", "dot-segment"],
    ["http://h/a/.%2e", "dot-segment"],
    ["http://h/%2e", "dot-segment"],
    ["http://h/a/..%2fb", "dot-segment"],
    ["http://h/a%2f..%2Fb", "dot-segment"],
    ["http://h/a%5C%2e%2e%5cb", "dot-segment"],
    ["http://h/a/..;x=1/b", "dot-segment"],
    ["http://h/a/..%3Bx/b", "dot-segment"],
    ["http://h//evil/x", "double-slash"],
    ["http://h//", "double-slash"],
    ["http://h/\\evil/x", "backslash"],
    ["http://h\\evil/x", "backslash"],
    ["http://h/a\\..\\b", "backslash"],
    ["http://user@h/a", "userinfo"],
    ["http://user:pass@h/a", "userinfo"],
    ["http://@h/a", "userinfo"],
    ["http://h/a#b", "fragment"],
    ["http://h/a?b#", "fragment"],
    ["http://h/a\u0000b", "character"],
    ["http://h/a\tb", "character"],
    ["http://h/.\n./b", "character"],
    ["http://h/a b", "character"],
    ["http://h/a ", "character"],
    ["http://h/\u007f", "character"],
    ["http:///evil/x", "unparsable"],
    ["http:////evil/x", "unparsable"],
    ["http:/h/a", "unparsable"],
    ["http://[h/a", "unparsable"],
    ["http://h:99999/a", "unparsable"],
    ["ftp://h/a", "unparsable"],
    ["/a", "unparsable"],
    ["", "unparsable"],
  ])("refuses %j as %s", (url, reason) => {
    expect(readTarget(url)).toEqual({ kind: "refused", reason });
  });

  const piece = fc.constantFrom(
    ..."/ // . .. %2e %2E %2f %5C \\ ? # @ : ; % %25 a b = & ' \" < > | ^ ` { } ~ \u00e9 \u2028 \ud83d\ude00 \u0001 [ ]".split(
      " ",
    ),
  );
  const tail = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));

  it("gives a target that reads as itself, in one spelling, and that no URL parser changes", () => {
    let read = 0;
    fc.assert(
      fc.property(tail, (text) => {
        const target = readTarget(`http://h/${text}`);
        if (target.kind === "refused") return;
        read += 1;
        const whole = target.path + target.search;
        expect(readTarget(`http://other.test${whole}`)).toEqual(target);
        expect(whole).toMatch(/^\/(?!\/)[\x21-\x7e]*$/);
        expect(new URL(`http://h${whole}`).href).toBe(`http://h${whole}`);
        expect(new URL(whole, "http://h/x/y").host).toBe("h");
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(300);
  });

  it("accepts no path whose segments a URL parser or a decoding server would resolve", () => {
    fc.assert(
      fc.property(tail, (text) => {
        const target = readTarget(`http://h/${text}`);
        if (target.kind === "refused") return;
        const raw = text.split("?")[0] ?? "";
        expect(new URL(`http://h/${raw}`).pathname.split("/").length).toBe(raw.split("/").length + 1);
        const decoded = target.path.replace(/%2e/gi, ".").replace(/%2f|%5c/gi, "/");
        expect(decoded.split("/").filter((segment) => segment === "." || segment === "..")).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("slashReading", () => {
  it.each([
    ["/a%2Fb", "/a/b"],
    ["/a%2fb%5Cc%5cd", "/a/b/c/d"],
    ["/%2Fa", "//a"],
    ["/a%252Fb%2F", "/a%252Fb/"],
  ])("reads %s as %s", (path, reading) => {
    expect(slashReading(path)).toBe(reading);
  });

  it.each(["/", "/a/b", "/a%252Fb", "/a%2e", "/a%2"])("has no second reading of %s", (path) => {
    expect(slashReading(path)).toBeNull();
  });

  it("never holds a dot segment for a path that was not refused", () => {
    const piece = fc.constantFrom("/", "%2f", "%5C", ".", "%2e", "a", "%25", "2f");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const target = readTarget(`http://h/${pieces.join("")}`);
        if (target.kind === "refused") return;
        const reading = slashReading(target.path) ?? target.path;
        expect(new URL(`http://h/x/${reading}`).pathname).toBe(`/x/${reading}`);
      }),
      { numRuns: 3000 },
    );
  });
});
