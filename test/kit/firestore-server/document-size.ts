import type { Fields, Value } from "./messages.ts";
import { invalidArgument } from "./status-error.ts";

const MAX_DOCUMENT_BYTES = 1_048_576;

/**
 * @throws INVALID_ARGUMENT if a document is larger than 1 MiB, counted as the service does:
 * https://firebase.google.com/docs/firestore/storage-size
 */
export function checkSize(name: string, fields: Fields): void {
  const size = nameSize(name) + fieldsSize(fields) + 32;
  if (size <= MAX_DOCUMENT_BYTES) return;
  throw invalidArgument(
    `Document '${name}' cannot be written because its size (${size} bytes) exceeds the maximum allowed size of ` +
      `${MAX_DOCUMENT_BYTES} bytes.`,
  );
}

function fieldsSize(fields: Fields): number {
  return Object.entries(fields).reduce((sum, [name, value]) => sum + stringSize(name) + valueSize(value), 0);
}

function valueSize(value: Value): number {
  switch (value.valueType) {
    case "nullValue":
    case "booleanValue":
      return 1;
    case "integerValue":
    case "doubleValue":
    case "timestampValue":
      return 8;
    case "stringValue":
      return stringSize(value.stringValue);
    case "bytesValue":
      return value.bytesValue.length;
    case "referenceValue":
      return nameSize(value.referenceValue);
    case "geoPointValue":
      return 16;
    case "arrayValue":
      return value.arrayValue.values.reduce((sum, element) => sum + valueSize(element), 0);
    case "mapValue":
      return fieldsSize(value.mapValue.fields);
  }
}

/** Returns the size of a document's name below `projects/<project>/databases/<database>/documents`. */
function nameSize(name: string): number {
  const ids = name.split("/").slice(5);
  return ids.reduce((sum, id) => sum + stringSize(id), 16);
}

function stringSize(text: string): number {
  return Buffer.byteLength(text) + 1;
}
