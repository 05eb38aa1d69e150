import { readFile } from "node:fs/promises";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { tellBlocks } from "./blocks.ts";
import { KNOWN_EQUIVALENTS } from "./known-equivalents.ts";
import { apply, mutate } from "./mutate.ts";
import { REACH } from "./reach.ts";
import { drawSample } from "./sample.ts";
import { ROOT } from "./sources.ts";

function changedInto(source: string): string[] {
  return mutate("some.ts", source).map(({ to }) => to);
}

describe("the mutants of a file", () => {
  test.for<[source: string, into: string[]]>([
    ["done = a < b;", [";", "done = a <= b;", "done = a >= b;"]],
    ["done = a !== b;", [";", "done = a === b;"]],
    ["done = 'a' in b;", [";", "done = !('a' in b);"]],
    ["sum = a + b;", [";", "sum = a - b;"]],
    ["text = 'a' + b;", [";"]],
    ["const c = a && !b;", ["const c = a || !b;", "const c = a && (b);"]],
    ["const c = a ?? b;", ["const c = (a);", "const c = (b);"]],
    ["const c = true;", ["const c = false;"]],
    ["const n = 2;", ["const n = 3;", "const n = 1;"]],
    ["const n = 0;", ["const n = 1;"]],
    ["const n = 15_000;", ["const n = 30000;"]],
    ["const n: 1 | 2 = given as 1 | 2;", []],
    ["const c = a ? b : d;", ["const c = !(a) ? b : d;"]],
    ["if (a === b) throw c;", ["if (false) throw c;", "if (a !== b) throw c;", "if (a === b) ;"]],
    ["while (true) break;", ["while (false) break;", "while (true) ;"]],
    ["const n = Math.min(a, b);", ["const n = Math.max(a, b);"]],
    ["const text = n.toString();", []],
    ["await stop();", [";", "(stop());"]],
    ["async function f() { return await stop(); }", []],
    [
      "async function f() { try { return await stop(); } catch {} }",
      ["async function f() { try { return (stop()); } catch {} }"],
    ],
    ["async function f() { try { } catch { return await stop(); } }", []],
    [
      "async function f() { try { } catch { return await stop(); } finally { } }",
      ["async function f() { try { } catch { return (stop()); } finally { } }"],
    ],
    ["const names: Readonly<Record<Name, true>> = { a: true };", []],
    ["const names: OptionNames<Options> = { a: true };", []],
    ["const off = signal.addEventListener('abort', f, { once: true });", []],
    [
      "const off = server.addEventListener('close', f, { once: true });",
      ["const off = server.addEventListener('close', f, { once: false });"],
    ],
    ["const f = () => 'a';", ['const f = () => "";']],
    ["const o = { a: 'b' };", ['const o = { a: "" };']],
    ["log('a message');", [";"]],
    ["n += 1;", [";", "n -= 1;", "n += 2;", "n += 0;"]],
    ["class A extends B { constructor() { super(); } }", []],
  ])("%s", ([source, into]) => {
    expect(changedInto(source)).toEqual(into);
  });

  test("are told apart where two lines are the same, and know their block", () => {
    const source = "a < b;\nfunction f() {\n  return () => {\n    a < b;\n  };\n}\n";
    const swapped = mutate("some.ts", source).filter(({ to }) => to === "a <= b;");

    expect(swapped).toMatchObject([
      { line: 1, nth: 0, block: 0 },
      { line: 4, nth: 1, block: 2 },
    ]);
    expect(apply(source, swapped[1]!)).toBe(source.replace("    a < b", "    a <= b"));
  });
});

test("a file tells of every block that is entered", () => {
  const entered: number[] = [];
  const source = "#!/usr/bin/env node\nconst twice = (n) => n * 2; if (twice(1) > 2) { twice(2); } else { twice(3); }";

  runInNewContext(tellBlocks(source, 100), { [REACH]: (block: number) => entered.push(block) });

  expect(entered).toEqual([100, 101, 103, 101]);
});

test("a sample follows from the seed, and hardly changes with the file", () => {
  const source = Array.from({ length: 100 }, (_, n) => `set${n}(a < b);`).join("\n");
  const draw = (text: string, seed: number): string[] => drawSample(mutate("some.ts", text), 20, seed).map(({ to }) => to);

  expect(draw(source, 1)).toHaveLength(20);
  expect(draw(source, 1)).not.toEqual(draw(source, 2));
  expect(draw(`\n\n${source}`, 1)).toEqual(draw(source, 1));
});

test("what is said to be equivalent is there, and says why", async () => {
  const paths = [...new Set(KNOWN_EQUIVALENTS.map(({ file }) => file))];
  const files = await Promise.all(paths.map(async (path) => mutate(path, await readFile(`${ROOT}${path}`, "utf8"))));
  const mutants = files.flat();
  const missing = KNOWN_EQUIVALENTS.filter(
    (known) => !mutants.some(({ file, from, to }) => file === known.file && from === known.from && to === known.to),
  );

  expect(missing).toEqual([]);
  expect(KNOWN_EQUIVALENTS.filter(({ why }) => why.length < 20)).toEqual([]);
});
