import { isDeepStrictEqual } from "node:util";
import { status } from "@grpc/grpc-js";
import { microsOf, timestampOf } from "./clock.ts";
import { checkSize } from "./document-size.ts";
import { getField, parseFieldPath, withField } from "./field-path.ts";
import type { Document, DocumentMask, Fields, Precondition, Write, WriteResult } from "./messages.ts";
import { failedPrecondition, notFound, StatusError, unimplemented } from "./status-error.ts";

/** A stored document. It is never changed, only replaced. */
export interface StoredDocument {
  readonly name: string;
  readonly fields: Fields;
  /** In microseconds since 1970, like every time here. */
  readonly createTime: bigint;
  /** The time of the last commit that changed the document, which identifies its version. */
  readonly updateTime: bigint;
}

/** The result of a write to a document: a new document, or none. */
export interface Outcome {
  readonly document: StoredDocument | undefined;
  readonly result: WriteResult;
}

/** Returns the name of the document of a write. */
export function documentNameOf(write: Write): string {
  switch (write.operation) {
    case "update":
      return write.update.name;
    case "delete":
      return write.delete;
    default:
      throw unimplemented("writes other than updates and deletions");
  }
}

/**
 * Applies one write to `current`, the document of the write, without storing anything.
 * @throws a status if its precondition does not hold, or the document would become too large.
 */
export function applyWrite(write: Write, current: StoredDocument | undefined, commitTime: bigint): Outcome {
  const name = documentNameOf(write);
  checkPrecondition(name, write.currentDocument, current);
  if (write.operation !== "update") return { document: undefined, result: { transformResults: [] } };
  if (write.updateTransforms.length > 0) throw unimplemented("transforms");

  const fields = updatedFields(current, write.update.fields, write.updateMask);
  checkSize(name, fields);
  // A write that changes nothing keeps the document's version, in the official emulator too.
  const isChanged = current === undefined || !isDeepStrictEqual(current.fields, fields);
  const document = isChanged ? { name, fields, createTime: current?.createTime ?? commitTime, updateTime: commitTime } : current;
  return { document, result: { updateTime: timestampOf(document.updateTime), transformResults: [] } };
}

/** Returns a stored document in the form of a reply. */
export function documentMessage({ name, fields, createTime, updateTime }: StoredDocument): Document {
  return { name, fields, createTime: timestampOf(createTime), updateTime: timestampOf(updateTime) };
}

function updatedFields(current: StoredDocument | undefined, update: Fields, mask: DocumentMask | null): Fields {
  if (mask === null) return update;
  let fields = current?.fields ?? {};
  for (const text of mask.fieldPaths) {
    const path = parseFieldPath(text);
    fields = withField(fields, path, getField(update, path));
  }
  return fields;
}

function checkPrecondition(name: string, condition: Precondition | null, current: StoredDocument | undefined): void {
  switch (condition?.conditionType) {
    case "exists":
      if (condition.exists && current === undefined) throw notFound(`No document to update: ${name}`);
      if (!condition.exists && current !== undefined) {
        throw new StatusError(status.ALREADY_EXISTS, `Document already exists: ${name}`);
      }
      return;
    case "updateTime": {
      const required = microsOf(condition.updateTime);
      // As in Google's own emulator, the epoch is no condition.
      if (required === 0n) return;
      if (current?.updateTime === required) return;
      const stored = current === undefined ? "no document" : `the stored version (${current.updateTime})`;
      throw failedPrecondition(`For ${name}: ${stored} does not match the required base version (${required}).`);
    }
    default:
  }
}
