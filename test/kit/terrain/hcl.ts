import type { SynthesizedStack } from "./argument-check.ts";

interface Body {
  [name: string]: unknown;
}

/**
 * Returns the resources of a module as Terraform's JSON syntax would have them. It reads the part of HCL that our modules use:
 * attributes on a line or with a list, and blocks, also on one line. An expression that is no literal becomes a template.
 * @throws {Error} for anything else.
 */
export function resourcesOfHcl(text: string): NonNullable<SynthesizedStack["resource"]> {
  const lines = text
    .split("\n")
    .map((line) => line.replace(/^\s*#.*/, "").trim())
    .filter((line) => line !== "");
  const { resource = {} } = bodyOf(lines) as { resource?: Record<string, Record<string, Body>> };
  return resource;
}

/** Reads lines until the end of the block. */
function bodyOf(lines: string[]): Body {
  const body: Body = {};
  for (let line = lines.shift(); line !== undefined && line !== "}"; line = lines.shift()) {
    const [, name = "", value] = /^(\w+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (value !== undefined) {
      body[name] = valueOf(value, lines);
      continue;
    }
    const [, outer, inner = "", only = ""] = /^(\w+) \{ (\w+)\s*=\s*(.+) \}$/.exec(line) ?? [];
    if (outer !== undefined) {
      add(body, [outer], { [inner]: literal(only) });
      continue;
    }
    const [, type = "", labels = ""] = /^(\w+)((?: "\w+")*) \{$/.exec(line) ?? [];
    if (type === "") throw new Error(`This line is neither an attribute nor a block: ${line}`);
    add(body, [type, ...[...labels.matchAll(/"(\w+)"/g)].map(([, label = ""]) => label)], bodyOf(lines));
  }
  return body;
}

function add(body: Body, [name = "", ...labels]: readonly string[], block: Body): void {
  if (labels.length === 0) body[name] = name in body ? [body[name], block].flat() : block;
  else add((body[name] ??= {}) as Body, labels, block);
}

function valueOf(value: string, lines: string[]): unknown {
  if (value === "{" || /[({[]$/.test(value)) {
    const rest: string[] = [];
    const end = { "[": "]", "{": "}", "(": ")" }[value.at(-1)!]!;
    for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
      if (line.startsWith(end)) break;
      rest.push(line);
    }
    return value === "[" ? rest.map((line) => literal(line.replace(/,$/, ""))) : `\${${[value, ...rest, end].join(" ")}}`;
  }
  const [, list] = /^\[(.*)\]$/.exec(value) ?? [];
  if (list === undefined) return literal(value);
  return list === "" ? [] : list.split(", ").map(literal);
}

function literal(value: string): unknown {
  return /^(?:"[^]*"|\d+|true|false|null)$/.test(value) ? readLiteral(value) : `\${${value}}`;
}

/** A template may hold a string in an expression, so its quotes there are no end. */
function readLiteral(value: string): unknown {
  if (!value.startsWith('"')) return JSON.parse(value);
  return value.slice(1, -1).replaceAll('\\"', '"');
}

/**
 * Returns the resources of each type without their ids, which differ, and without these arguments. References name only the type.
 * A block is the same as a list of one.
 */
export function comparableResources(
  resources: NonNullable<SynthesizedStack["resource"]>,
  ...without: readonly string[]
): Record<string, unknown> {
  const ignored = new Set(["//", "count", "for_each", ...without]);
  const text = JSON.stringify(resources, (key, value: unknown) => (ignored.has(key) ? undefined : value));
  const nameless = JSON.parse(text.replaceAll(/\$\{([a-z]+_\w+)\.\w+\.(\w+)\}/g, "${$1.$2}")) as typeof resources;
  return Object.fromEntries(Object.entries(nameless).map(([type, instances]) => [type, withoutLists(Object.values(instances))]));
}

function withoutLists(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length === 1 && typeof value[0] === "object" ? withoutLists(value[0]) : value.map(withoutLists);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutLists(each)]));
}
