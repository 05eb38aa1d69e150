import { parseSync } from "vite";

/** A node of a syntax tree of Vite's parser: ESTree, with TypeScript's own nodes. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [property: string]: unknown;
}

/** Syntax of types only, which does not exist when the program runs. */
const TYPES_ALONE = new Set([
  "typeAnnotation",
  "typeParameters",
  "typeArguments",
  "superTypeArguments",
  "returnType",
  "implements",
  "decorators",
]);
/** Syntax that wraps an expression only for its type. */
const WRAPPERS = new Set(["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"]);

/** @throws an error if `source` is not TypeScript. */
export function parse(source: string): Node {
  const { program, errors } = parseSync("source.ts", source);
  if (errors.length > 0) throw new SyntaxError(errors[0]!.message);
  return program as unknown as Node;
}

/** Visits `node` and all nodes below it that run. `above` contains the nodes above each, the nearest last. */
export function visit(node: Node, see: (node: Node, above: readonly Node[]) => void, above: readonly Node[] = []): void {
  if (node.type.startsWith("TS") && !WRAPPERS.has(node.type)) return;
  if (node.type === "ImportDeclaration") return;
  see(node, above);
  const inside = [...above, node];
  for (const [property, value] of Object.entries(node)) {
    if (TYPES_ALONE.has(property)) continue;
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) if (isNode(child)) visit(child, see, inside);
  }
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}
