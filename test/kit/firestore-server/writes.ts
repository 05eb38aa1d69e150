import { status } from "@grpc/grpc-js";
import { microsOf, timestampOf } from "./clock.ts";
import { checkSize } from "./document-size.ts";
import { getField, parseFieldPath, withField } from "./field-path.ts";
import type { Document, DocumentMask, Fields, Precondition, Write, WriteResult } from "./messages.ts";
import { failedPrecondition, invalidArgument, notFound, StatusError, unimplemented } from "./status-error.ts";
import { applyTransforms } from "./transforms.ts";
import { isSame } from "./values.ts";

/** A document as it is stored. It is never changed, but replaced. */
export interface StoredDocument {
  readonly name: string;
  readonly fields: Fields;
  /** In microseconds since 1970, as every time in here. */
  readonly createTime: bigint;
  /** Of the last commit that changed something in it, and so the name of this version of it. */
  readonly updateTime: bigint;
}

/** The result of a write on a document: another one, or none. */
export interface Outcome {
  readonly document: StoredDocument | undefined;
  readonly result: WriteResult;
}

/** The document that a write is for. */
export function documentNameOf(write: Write): string {
  switch (write.operation) {
    case "update":
      return write.update.name;
    case "delete":
      return write.delete;
    case "verify":
      return write.verify;
    case "transform":
      // What the clients of long ago sent; those of today send `updateTransforms`.
      throw unimplemented("writes that are a transform alone");
    default:
      throw invalidArgument("A write must have an operation.");
  }
}

/**
 * Carries out one write on `current`, the document that it is for, without storing anything.
 * @throws a status if its precondition is not met or the document would become too large.
 */
export function applyWrite(write: Write, current: StoredDocument | undefined, commitTime: bigint): Outcome {
  const name = documentNameOf(write);
  if (write.operation === "verify" && write.currentDocument === null) {
    throw invalidArgument("A write that verifies must have a precondition.");
  }
  checkPrecondition(name, write.currentDocument, current);
  if (write.operation === "delete") return { document: undefined, result: { transformResults: [] } };
  if (write.operation !== "update") {
    const updateTime = current && { updateTime: timestampOf(current.updateTime) };
    return { document: current, result: { ...updateTime, transformResults: [] } };
  }

  const updated = updatedFields(current, write.update.fields, write.updateMask);
  const { fields, results } = applyTransforms(updated, write.updateTransforms, commitTime);
  checkSize(name, fields);
  // A write that changes nothing leaves the document's version as it is, in the official emulator too.
  const isChanged = current === undefined || !isSame(current.fields, fields);
  const document = isChanged ? { name, fields, createTime: current?.createTime ?? commitTime, updateTime: commitTime } : current;
  return { document, result: { updateTime: timestampOf(document.updateTime), transformResults: results } };
}

/** A stored document, or the fields of it that were asked for, in a reply. */
export function documentMessage(document: StoredDocument, fields: Fields = document.fields): Document {
  const { name, createTime, updateTime } = document;
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
      // As Google's own emulator has it: the epoch is no condition.
      if (required === 0n) return;
      if (current?.updateTime === required) return;
      const stored = current === undefined ? "no document" : `the stored version (${current.updateTime})`;
      throw failedPrecondition(`For ${name}: ${stored} does not match the required base version (${required}).`);
    }
    default:
  }
}
