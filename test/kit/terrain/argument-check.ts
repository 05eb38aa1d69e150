import type { ArgumentFacts, AttributeFact, BlockFact, ProviderFacts } from "./provider-facts.ts";

/** Terraform's own arguments of every resource. */
const META_ARGUMENTS = new Set(["depends_on", "count", "for_each", "provider", "lifecycle", "provisioner", "connection", "//"]);

/** A stack as `Testing.synth` returns it, once parsed. */
export interface SynthesizedStack {
  readonly terraform?: { readonly required_providers?: Readonly<Record<string, { source: string; version: string }>> };
  readonly provider?: Readonly<Record<string, readonly Json[]>>;
  readonly resource?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly variable?: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- what is looked at is what is unknown here
type Json = Readonly<Record<string, any>>;

/**
 * Returns everything in a stack that its providers would refuse; each fault is a line that names the place. It finds unknown
 * types of resources, arguments and blocks. It finds missing required ones, values of another type, a block too many or too few,
 * and references to nothing.
 */
export function findArgumentFaults(stack: SynthesizedStack, ...providers: readonly ProviderFacts[]): string[] {
  const faults: string[] = [];
  for (const { source, configuration } of providers) {
    const name = providerName(source);
    for (const given of stack.provider?.[name] ?? []) checkArguments(`provider.${name}`, given, configuration, faults);
  }
  const resources = Object.assign({}, ...providers.map((provider) => provider.resources)) as ProviderFacts["resources"];
  for (const [type, instances] of Object.entries(stack.resource ?? {})) {
    const facts = resources[type];
    if (!facts) {
      faults.push(`${type}: there is no resource of this type in the table`);
      continue;
    }
    for (const [id, resource] of Object.entries(instances)) {
      const args = Object.fromEntries(Object.entries(resource).filter(([key]) => !META_ARGUMENTS.has(key)));
      checkArguments(`${type}.${id}`, args, facts.arguments, faults);
    }
  }
  checkReferences(stack, resources, faults);
  return faults;
}

/** Returns the name of a provider in a stack: `google` for hashicorp/google. */
export function providerName(source: string): string {
  return source.slice(source.indexOf("/") + 1);
}

function checkArguments(place: string, given: Json, facts: ArgumentFacts, faults: string[]): void {
  for (const [name, value] of Object.entries(given)) {
    const fact = facts[name];
    if (fact === undefined) faults.push(`${place}.${name}: there is no such argument`);
    else if (typeof fact === "string") checkAttribute(`${place}.${name}`, value, fact, faults);
    else checkBlocks(`${place}.${name}`, value, fact, faults);
  }
  for (const [name, fact] of Object.entries(facts)) {
    const required = typeof fact === "string" ? fact.startsWith("required ") : (fact.min ?? 0) > 0;
    if (required && given[name] === undefined) faults.push(`${place}.${name}: is required, and missing`);
  }
}

function checkAttribute(place: string, value: unknown, fact: AttributeFact, faults: string[]): void {
  const type = fact.replace("required ", "");
  // Terraform itself evaluates an expression.
  if (typeof value === "string" && value.startsWith("${") && value.endsWith("}")) return;
  const given = Array.isArray(value)
    ? "list"
    : typeof value === "object"
      ? "map"
      : typeof value === "boolean"
        ? "bool"
        : typeof value;
  if (given === type || (given === "list" && type === "set")) return;
  faults.push(`${place}: is an attribute of type ${type}, and was given a ${given}`);
}

function checkBlocks(place: string, value: unknown, { min = 0, max, block }: BlockFact, faults: string[]): void {
  const blocks: unknown[] = Array.isArray(value) ? value : [value];
  if (blocks.length < min) faults.push(`${place}: needs ${min} or more blocks, and has ${blocks.length}`);
  if (max !== undefined && blocks.length > max) faults.push(`${place}: takes ${max} block at most, and has ${blocks.length}`);
  for (const [index, given] of blocks.entries()) {
    const at = Array.isArray(value) ? `${place}[${index}]` : place;
    if (typeof given === "object" && given !== null && !Array.isArray(given)) checkArguments(at, given as Json, block, faults);
    else faults.push(`${at}: is a block, and was given a ${Array.isArray(given) ? "list" : typeof given}`);
  }
}

const REFERENCE = /\b(?<type>[a-z][a-z0-9_]*)\.(?<id>[A-Za-z0-9_-]+)(?:\.(?<attribute>[a-z0-9_]+))?/g;

/** Checks that every `${...}` refers to an existing variable, or to an attribute of an existing resource. */
function checkReferences(stack: SynthesizedStack, resources: ProviderFacts["resources"], faults: string[]): void {
  for (const [, expression = ""] of JSON.stringify({ ...stack, "//": undefined }).matchAll(/\$\{([^}]*)\}/g)) {
    for (const { groups } of expression.matchAll(REFERENCE)) {
      const { type = "", id = "", attribute } = groups ?? {};
      if (type === "var") {
        if (!(id in (stack.variable ?? {}))) faults.push(`\${${expression}}: there is no such variable`);
        continue;
      }
      const facts = resources[type];
      if (!stack.resource?.[type]?.[id]) faults.push(`\${${expression}}: there is no such resource`);
      else if (attribute && !(attribute in (facts?.arguments ?? {})) && !facts?.exports?.includes(attribute)) {
        faults.push(`\${${expression}}: ${type} has no attribute ${attribute}`);
      }
    }
  }
}
