import { REACH } from "./reach.ts";
import { parse, visit, type Node } from "./syntax-tree.ts";

/**
 * All code in a block runs once the block is entered, except for inner blocks. A block is `{ ... }`, or the result of an arrow
 * function.
 */
export function isBlock(node: Node, above: readonly Node[]): boolean {
  const parent = above.at(-1);
  const isBody = parent?.type === "ArrowFunctionExpression" && parent["body"] === node;
  return isBody || node.type === "BlockStatement";
}

/**
 * Returns `source` with a report of every block that is entered. The report is the block's number in this file, from 1 in the
 * order of the text, plus `base`. Loading the file is `base` itself.
 */
export function tellBlocks(source: string, base: number): string {
  const afterHashbang = /^#!.*\n/.exec(source)?.[0].length ?? 0;
  const inserts = [{ at: afterHashbang, text: `globalThis.${REACH}?.(${base});` }];
  let number = base;
  visit(parse(source), (node, above) => {
    if (!isBlock(node, above)) return;
    number += 1;
    const tell = `globalThis.${REACH}?.(${number})`;
    if (node.type === "BlockStatement") {
      inserts.push({ at: node.start + 1, text: `${tell};` });
    } else {
      inserts.push({ at: node.start, text: `(${tell}, ` }, { at: node.end, text: ")" });
    }
  });
  let told = "";
  let from = 0;
  for (const { at, text } of inserts.toSorted((one, other) => one.at - other.at)) {
    told += source.slice(from, at) + text;
    from = at;
  }
  return told + source.slice(from);
}
