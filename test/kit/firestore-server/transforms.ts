import { timestampOf } from "./clock.ts";
import { getField, parseFieldPath, withField } from "./field-path.ts";
import type { Fields, FieldTransform, NumberValue, Value } from "./messages.ts";
import { invalidArgument, unimplemented } from "./status-error.ts";
import { amountOf, compareNumbers, isEquivalent, isNumber } from "./values.ts";

const MIN_INTEGER = -(2n ** 63n);
const MAX_INTEGER = 2n ** 63n - 1n;
const NULL: Value = { valueType: "nullValue", nullValue: "NULL_VALUE" };

/** Carries out `transforms` in their order. `results` are what the client is told of each one. */
export function applyTransforms(
  before: Fields,
  transforms: readonly FieldTransform[],
  commitTime: bigint,
): { readonly fields: Fields; readonly results: readonly Value[] } {
  let fields = before;
  const results = transforms.map((transform) => {
    const path = parseFieldPath(transform.fieldPath);
    const value = transformed(getField(fields, path), transform, commitTime);
    fields = withField(fields, path, value);
    return value.valueType === "arrayValue" ? NULL : value;
  });
  return { fields, results };
}

function transformed(current: Value | undefined, transform: FieldTransform, commitTime: bigint): Value {
  switch (transform.transformType) {
    case "setToServerValue":
      // The request's time, which the service gives in milliseconds and not later than the commit's.
      return { valueType: "timestampValue", timestampValue: timestampOf((commitTime / 1000n) * 1000n) };
    case "increment":
      return incremented(current, numeric(transform.increment));
    case "maximum":
      return extreme(current, numeric(transform.maximum), 1);
    case "minimum":
      return extreme(current, numeric(transform.minimum), -1);
    case "appendMissingElements":
      return arrayOf(transform.appendMissingElements.values.reduce(withElement, elementsOf(current)));
    case "removeAllFromArray": {
      const gone = transform.removeAllFromArray.values;
      return arrayOf(elementsOf(current).filter((element) => !gone.some((other) => isEquivalent(element, other))));
    }
    default:
      throw unimplemented("this transform");
  }
}

function incremented(current: Value | undefined, by: NumberValue): NumberValue {
  if (!isNumber(current)) return by;
  if (current.valueType === "doubleValue" || by.valueType === "doubleValue") {
    return { valueType: "doubleValue", doubleValue: amountOf(current) + amountOf(by) };
  }
  const sum = BigInt(current.integerValue) + BigInt(by.integerValue);
  const held = sum > MAX_INTEGER ? MAX_INTEGER : sum < MIN_INTEGER ? MIN_INTEGER : sum;
  return { valueType: "integerValue", integerValue: String(held) };
}

/** The larger one for a `sign` of 1, the smaller one for -1, and `current` where they are equal. */
function extreme(current: Value | undefined, other: NumberValue, sign: 1 | -1): NumberValue {
  return isNumber(current) && compareNumbers(current, other) * sign >= 0 ? current : other;
}

function numeric(value: Value): NumberValue {
  if (isNumber(value)) return value;
  throw invalidArgument("The operand of a numeric transform must be a number.");
}

function elementsOf(value: Value | undefined): readonly Value[] {
  return value?.valueType === "arrayValue" ? value.arrayValue.values : [];
}

function withElement(elements: readonly Value[], added: Value): readonly Value[] {
  return elements.some((element) => isEquivalent(element, added)) ? elements : [...elements, added];
}

function arrayOf(values: readonly Value[]): Value {
  return { valueType: "arrayValue", arrayValue: { values } };
}
