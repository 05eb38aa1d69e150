/** One statement of a policy in a template. */
export interface Statement {
  readonly Effect: "Allow" | "Deny";
  readonly Action: string | readonly string[];
  /** Strings, or expressions of CloudFormation. They are compared as JSON. */
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/** A request in IAM's terms. */
export interface Request {
  readonly action: string;
  readonly resource: unknown;
  /** The values of each condition key of the request. A key that the request lacks is not in it. */
  readonly context?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Tells whether these statements allow a request, by the rules of IAM that our policies use. An explicit denial wins, and a
 * request is denied unless a statement allows it.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 * @throws for an unknown operator, instead of a guess.
 */
export function allows(statements: readonly Statement[], request: Request): boolean {
  const matching = statements.filter((statement) => matches(statement, request));
  return matching.some(({ Effect }) => Effect === "Allow") && !matching.some(({ Effect }) => Effect === "Deny");
}

function matches({ Action, Resource, Condition = {} }: Statement, { action, resource, context = {} }: Request): boolean {
  if (!list(Action).some((pattern) => like(pattern, action, true))) return false;
  if (!list(Resource).some((pattern) => pattern === "*" || JSON.stringify(pattern) === JSON.stringify(resource))) return false;
  return Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => holds(operator, list(wanted), context[key])),
  );
}

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-single-vs-multi-valued-context-keys.html */
function holds(operator: string, wanted: readonly string[], values: readonly string[] | undefined): boolean {
  switch (operator) {
    case "Null":
      return wanted.includes(String(values === undefined));
    case "ForAllValues:StringEquals":
      // Also true if the key is missing, because every element of an empty list matches.
      return (values ?? []).every((value) => wanted.some((pattern) => literal(pattern) === value));
    case "ForAllValues:StringLike":
      return (values ?? []).every((value) => wanted.some((pattern) => like(pattern, value, false)));
    case "StringEquals":
      return values?.length === 1 && wanted.some((pattern) => literal(pattern) === values[0]);
    default:
      throw new Error(`The operator ${operator} is not known here.`);
  }
}

/** Returns a value after policy variables are replaced. An unknown variable has no value, so it matches nothing. */
function literal(pattern: string): string | undefined {
  const unknown = pattern.replaceAll(/\$\{[$*?]\}/g, "").includes("${");
  return unknown ? undefined : pattern.replaceAll(/\$\{([$*?])\}/g, "$1");
}

function like(pattern: string, value: string, ignoringCase: boolean): boolean {
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, ignoringCase ? "is" : "s").test(value);
}

function list<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [value as T];
}
