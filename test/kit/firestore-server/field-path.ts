import type { Fields, Value } from "./messages.ts";
import { invalidArgument } from "./status-error.ts";

/**
 * Returns the names in a field path such as ``a.b.`c.d` ``, in which a name in backticks may contain anything.
 * @throws INVALID_ARGUMENT if a name is empty.
 */
export function parseFieldPath(text: string): readonly string[] {
  const names: string[] = [];
  let name = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === "`") quoted = !quoted;
    else if (character === "\\" && quoted) name += text.charAt(++i);
    else if (character === "." && !quoted) {
      names.push(name);
      name = "";
    } else name += character;
  }
  names.push(name);
  if (names.includes("")) throw invalidArgument(`Not a field path: "${text}".`);
  return names;
}

/** Returns the field at `path`, or undefined if there is none. */
export function getField(fields: Fields, [name, ...rest]: readonly string[]): Value | undefined {
  if (name === undefined || !Object.hasOwn(fields, name)) return undefined;
  const value = fields[name];
  if (rest.length === 0) return value;
  return value?.valueType === "mapValue" ? getField(value.mapValue.fields, rest) : undefined;
}

/**
 * Returns a copy of `fields` in which the field at `path` is `value`, or is absent if that is undefined. A value on the path that
 * is not a map becomes one, unless there is nothing to put into it.
 */
export function withField(fields: Fields, [name, ...rest]: readonly string[], value: Value | undefined): Fields {
  if (name === undefined) return fields;
  if (rest.length > 0) {
    const parent = getField(fields, [name]);
    const isMap = parent?.valueType === "mapValue";
    if (!isMap && value === undefined) return fields;
    const inner = withField(isMap ? parent.mapValue.fields : {}, rest, value);
    return { ...fields, [name]: { valueType: "mapValue", mapValue: { fields: inner } } };
  }
  if (value !== undefined) return { ...fields, [name]: value };
  const { [name]: _, ...others } = fields;
  return others;
}
