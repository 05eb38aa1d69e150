/**
 * Evaluates Azure's language of conditions, as far as it is used here:
 * https://learn.microsoft.com/azure/role-based-access-control/conditions-format
 *
 * ```text
 * expression = term { ("AND" | "OR") term }      both in one expression only with parentheses
 * term       = "!" term | "(" expression ")" | ActionMatches{'...'} | @Resource[...] operator {'...', '...'}
 * ```
 */
export function evaluateCondition(
  condition: string,
  request: { readonly action: string; readonly path?: string | undefined },
): boolean {
  const tokens = condition.match(/'[^']*'|@Resource\[[^\]]+\]|[A-Za-z]+(?::[A-Za-z]+)?|[(){},!]|\S/g) ?? [];
  let at = 0;
  const value = expression();
  if (at < tokens.length) throw new Error(`There is more than an expression: ${tokens.slice(at).join(" ")}`);
  return value;

  function expression(): boolean {
    let result = term();
    let operator: string | undefined;
    while (tokens[at] === "AND" || tokens[at] === "OR") {
      const next = take();
      if (operator !== undefined && operator !== next) throw new Error("AND and OR in one expression need parentheses");
      operator = next;
      const right = term();
      result = next === "AND" ? result && right : result || right;
    }
    return result;
  }

  function term(): boolean {
    const token = take();
    if (token === "!") return !term();
    if (token === "(") {
      const inner = expression();
      take(")");
      return inner;
    }
    if (token === "ActionMatches") return values().some((pattern) => like(pattern, request.action.toLowerCase(), true));
    if (token !== "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]") {
      throw new Error(`Azure knows no ${token}`);
    }
    return compare(take(), values());
  }

  function compare(operator: string, names: readonly string[]): boolean {
    const { path } = request;
    // An attribute that the request lacks matches nothing.
    if (operator === "ForAnyOfAnyValues:StringEquals") return path !== undefined && names.includes(path);
    if (operator === "ForAnyOfAnyValues:StringLike") return path !== undefined && names.some((name) => like(name, path, false));
    throw new Error(`Azure knows no ${operator}`);
  }

  function values(): string[] {
    const found: string[] = [];
    take("{");
    do found.push(take().slice(1, -1));
    while (tokens[at] === "," && take());
    take("}");
    return found;
  }

  function take(expected?: string): string {
    const token = tokens[at] ?? "the end";
    if (expected !== undefined && token !== expected) throw new Error(`There should be ${expected} in place of ${token}`);
    at += 1;
    return token;
  }
}

function like(pattern: string, text: string, ignoreCase: boolean): boolean {
  const literal = pattern.replace(/[.+^${}()|[\]\\/]/g, "\\$&");
  return new RegExp(`^${literal.replaceAll("*", ".*").replaceAll("?", ".")}$`, ignoreCase ? "is" : "s").test(text);
}
