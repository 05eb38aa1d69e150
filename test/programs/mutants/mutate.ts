import { isBlock } from "./blocks.ts";
import { isNode, parse, visit, type Node } from "./syntax-tree.ts";

/** A change of one point of a source file. */
export interface Mutant {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly line: number;
  /** The line that is changed, without the spaces around it. */
  readonly from: string;
  /** The text that replaces it. */
  readonly to: string;
  /** The number of mutants of the file with this `from` and `to` before this one. */
  readonly nth: number;
  /** The block that has to be entered for the change to matter. See `tellBlocks`. */
  readonly block: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Change {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const SWAPS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "===": ["!=="],
  "!==": ["==="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&&": ["||"],
  "||": ["&&"],
  "+=": ["-="],
  "-=": ["+="],
  "*=": ["/="],
  "/=": ["*="],
  "??=": ["="],
  "++": ["--"],
  "--": ["++"],
};
const METHOD_SWAPS: ReadonlyMap<unknown, string> = new Map([
  ["min", "max"],
  ["max", "min"],
  ["floor", "ceil"],
  ["ceil", "floor"],
  ["some", "every"],
  ["every", "some"],
]);
/** For a larger number, one more or less makes no noticeable difference. */
const SMALL_NUMBER = 16;

/** Returns every mutant of a file. */
export function mutate(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  const seen = new Map<string, number>();
  const blocks: Array<{ readonly node: Node; readonly number: number }> = [];
  visit(parse(source), (node, above) => {
    if (isBlock(node, above)) blocks.push({ node, number: blocks.length + 1 });
    for (const change of changes(node, above, source)) {
      const { from, to, line } = describe(source, change);
      if (from === to) continue;
      const key = JSON.stringify([from, to]);
      const nth = seen.get(key) ?? 0;
      seen.set(key, nth + 1);
      const block = blocks.findLast((one) => one.node.start <= change.start && change.end <= one.node.end)?.number ?? 0;
      mutants.push({ file, line, from, to, nth, block, ...change });
    }
  });
  return mutants;
}

/** Returns `source` with the mutant's change. */
export function apply(source: string, { start, end, text }: Change): string {
  return source.slice(0, start) + text + source.slice(end);
}

function changes(node: Node, above: readonly Node[], source: string): Change[] {
  const text = (one: unknown): string => (isNode(one) ? source.slice(one.start, one.end) : "");
  const all = (replacement: string): Change => ({ start: node.start, end: node.end, text: replacement });
  const parent = above.at(-1);
  switch (node.type) {
    case "BinaryExpression":
      if (node["operator"] === "in" || node["operator"] === "instanceof") return [all(`!(${text(node)})`)];
      if (node["operator"] === "+" && isText(node)) return [];
      return swaps(node, source);
    case "LogicalExpression":
      if (node["operator"] === "??") return [all(`(${text(node["left"])})`), all(`(${text(node["right"])})`)];
      return swaps(node, source);
    case "AssignmentExpression":
      if (node["operator"] === "+=" && isText(node["right"])) return [];
      return swaps(node, source);
    case "UpdateExpression":
      return [all(text(node).replace(String(node["operator"]), SWAPS[String(node["operator"])]![0]!))];
    case "UnaryExpression":
      return node["operator"] === "!" ? [all(` (${text(node["argument"])})`)] : [];
    case "Literal":
      return isOnlyTyped(above, source) || isOfAnAbort(above) ? [] : literals(node, above).map(all);
    case "ConditionalExpression":
    case "IfStatement":
    case "WhileStatement":
      return conditions(node, source);
    case "CallExpression":
      return methods(node["callee"]);
    case "ExpressionStatement":
      return statements(node, source);
    case "ReturnStatement":
      return isNode(node["argument"]) ? awaits(node["argument"], above, source) : [all(";")];
    case "BreakStatement":
    case "ContinueStatement":
    case "ThrowStatement":
      // A case that only throws tells the compiler that it is impossible.
      return parent?.type === "SwitchCase" && node.type === "ThrowStatement" ? [] : [all(";")];
    default:
      return [];
  }
}

function swaps(node: Node, source: string): Change[] {
  const { left, right, operator } = node as unknown as { left: Node; right: Node; operator: string };
  const start = source.indexOf(operator, left.end);
  if (start < 0 || start > right.start) return [];
  return (SWAPS[operator] ?? []).map((text) => ({ start, end: start + operator.length, text }));
}

function literals(node: Node, above: readonly Node[]): string[] {
  const { value } = node;
  if (typeof value === "boolean") return [String(!value)];
  if (typeof value === "number") {
    if (Math.abs(value) > SMALL_NUMBER || !Number.isInteger(value)) return [String(value * 2)];
    return value === 0 ? ["1"] : [String(value + 1), String(value - 1)];
  }
  if (typeof value !== "string" || value === "") return [];
  const parent = above.at(-1);
  const isValue = parent?.type === "Property" && parent["value"] === node;
  return isValue || parent?.type === "ReturnStatement" || parent?.type === "ArrowFunctionExpression" ? ['""'] : [];
}

/** Tells whether the type allows only one value here, for instance in a set of names: `Record<Name, true>`, `OptionNames<Options>`. */
function isOnlyTyped(above: readonly Node[], source: string): boolean {
  const declared = above.findLast(({ type }) => type === "VariableDeclarator");
  return (
    declared !== undefined &&
    /(?: true>+|: OptionNames<\w+>) =/.test(source.slice(declared.start, (declared["init"] as Node | null)?.start))
  );
}

/** Tells whether this is an option of a listener for an abort. An abort comes only once, so the option changes nothing. */
function isOfAnAbort(above: readonly Node[]): boolean {
  const [call, options, property] = above.slice(-3);
  if (call?.type !== "CallExpression" || options?.type !== "ObjectExpression" || property?.type !== "Property") return false;
  const [event] = call["arguments"] as readonly Node[];
  return event?.["value"] === "abort" && (property["key"] as Node)["name"] === "once";
}

function conditions(node: Node, source: string): Change[] {
  const test = node["test"] as Node;
  const { start, end } = test;
  if (test.type === "Literal") return [];
  const negated = { start, end, text: `!(${source.slice(start, end)})` };
  const never = { start, end, text: "false" };
  // These have a swap of their own, which negates them.
  const swapped = test.type === "BinaryExpression" || (test.type === "UnaryExpression" && test["operator"] === "!");
  return [...(swapped ? [] : [negated]), ...(node.type === "ConditionalExpression" ? [] : [never])];
}

function methods(callee: unknown): Change[] {
  if (!isNode(callee) || callee.type !== "MemberExpression") return [];
  const property = callee["property"] as Node;
  const text = METHOD_SWAPS.get(property["name"]);
  return text === undefined || callee["computed"] === true ? [] : [{ start: property.start, end: property.end, text }];
}

function statements(node: Node, source: string): Change[] {
  const expression = node["expression"] as Node;
  if (typeof node["directive"] === "string" || expression.type === "UpdateExpression") return [];
  if (expression.type === "CallExpression" && (expression["callee"] as Node).type === "Super") return [];
  const removed = { start: node.start, end: node.end, text: ";" };
  if (expression.type !== "AwaitExpression") return [removed];
  return [removed, notAwaited(expression, source)];
}

/** Awaits in a function that returns a promise make no difference, except where a `catch` or a `finally` would come too early. */
function awaits(argument: Node, above: readonly Node[], source: string): Change[] {
  const inside = above.slice(above.findLastIndex(({ type }) => type.includes("Function")) + 1);
  const isTried = inside.some(
    (node, at) => node.type === "TryStatement" && (isNode(node["finalizer"]) || node["block"] === inside[at + 1]),
  );
  return argument.type === "AwaitExpression" && isTried ? [notAwaited(argument, source)] : [];
}

function notAwaited({ start, end, argument }: Node, source: string): Change {
  const awaited = argument as Node;
  return { start, end, text: `(${source.slice(awaited.start, awaited.end)})` };
}

/** Tells whether `+` concatenates texts here. */
function isText(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === "TemplateLiteral") return true;
  if (node.type === "Literal") return typeof node["value"] === "string";
  return node.type === "BinaryExpression" && (isText(node["left"]) || isText(node["right"]));
}

/** Describes the line of a change, and the new line. For a change of several lines, the first one. */
function describe(source: string, change: Change): { from: string; to: string; line: number } {
  const lineStart = source.lastIndexOf("\n", change.start - 1) + 1;
  const restOfLine = (at: number): string => source.slice(at).split("\n", 1)[0]!;
  const to = source.slice(lineStart, change.start) + change.text + restOfLine(change.end);
  return {
    line: source.slice(0, lineStart).split("\n").length,
    from: restOfLine(lineStart).trim(),
    to: to.replaceAll(/\s+/g, " ").trim(),
  };
}
