import { expect, test } from "vitest";
import { faultsOf, overBudget, wordsOf } from "./prose.ts";

const long = `The elector ${"really ".repeat(23)}polls.`;

test.each([
  ["a comment that begins with Who", "// Who waits polls.\n", ["1 begins"]],
  ["the second sentence of a comment", "const x = 1;\n/** It polls. What it reads is cached. */\n", ["2 begins"]],
  ["a comment behind code", "call(); /\u002F Nobody leads.\n", ["1 begins"]],
  ["a sentence over several lines", `/**\n * ${long.replaceAll(" r", "\n * r")}\n */\n`, ["2 long"]],
  ["a word of our own", "// The tenure ends.\n", ["1 coined"]],
])("finds %s", (_, source, expected) => {
  expect(faultsOf(source, false).map(({ line, rule }) => `${line} ${rule}`)).toEqual(expected);
});

test.each([
  ["a question", "// What ends the term?\n"],
  ["code in backticks", "// `tenure` is a name.\n"],
  ["an example in a comment", "/**\n * ```ts\n * // Who leads.\n * ```\n */\n"],
  ["a directive of the linter", "// oxlint-disable-next-line x -- Who reads this.\n"],
  ["a text in code", 'const text = "Who leads.";\n'],
  ["twenty-five words", `// ${long.replace("really ", "")}\n`],
  ["two sentences in a row", `// ${"The elector polls. ".repeat(20)}\n`],
])("accepts %s", (_, source) => {
  expect(faultsOf(source, false)).toEqual([]);
});

test("reads paragraphs, list items and table cells of Markdown, and no code and no headings", () => {
  const page =
    "# Who leads\n\nIt polls. Who waits\npolls.\n\n- What it reads.\n\n| That | Whether it is. |\n\n```sh\n# Who\n```\n";
  expect(faultsOf(page, true).map(({ line, rule }) => `${line} ${rule}`)).toEqual([
    "3 begins",
    "6 begins",
    "8 begins",
    "8 begins",
  ]);
});

test("counts the words of a page beside code, headings and the targets of links", () => {
  const page =
    "# A title\n\nIt [polls](timing.md#measured), `retryPeriodMs` apart.\n\n| one | two |\n| --- | --- |\n\n```sh\nnpm ci\n```\n";
  expect(wordsOf(page)).toBe(6);
});

test("names each rule above its budget, and how to list its places", () => {
  const budget = { begins: 5, long: 5, coined: 5 };
  expect(overBudget({ begins: 5, long: 7, coined: 0 }, budget)).toEqual([
    expect.stringMatching(/^Rule 'long' .*: 7 places break it, 2 more than the budget\..*: npm run prose -- /),
  ]);
});
