import { isDeepStrictEqual } from "node:util";
import { status } from "@grpc/grpc-js";
import { microsOf, timestampOf } from "./clock.ts";
import { checkSize } from "./document-size.ts";
import { getField, parseFieldPath, withField } from "./field-path.ts";
import type { Document, DocumentMask, Fields, Precondition, Write, WriteResult } from "./messages.ts";
import { failedPrecondition, notFound, StatusError, unimplemented } from "./status-error.ts";

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
    default:
      throw unimplemented("writes other than updates and deletions");
  }
}

/**
 * Carries out one write on `current`, the document that it is for, without storing anything.
 * @throws a status if its precondition is not met or the document would become too large.
 */
export function applyWrite(write: Write, current: StoredDocument | undefined, commitTime: bigint): Outcome {
  const name = documentNameOf(write);
  checkPrecondition(name, write.currentDocument, current);
  if (write.operation !== "update") return { document: undefined, result: { transformResults: [] } };
  if (write.updateTransforms.length > 0) throw unimplemented("transforms");

  const fields = updatedFields(current, write.update.fields, write.updateMask);
  checkSize(name, fields);
  // A write that changes nothing leaves the document's version as it is, in the official emulator too.
  const isChanged = current === undefined || !isDeepStrictEqual(current.fields, fields);
  const document = isChanged ? { name, fields, createTime: current?.createTime ?? commitTime, updateTime: commitTime } : current;
  return { document, result: { updateTime: timestampOf(document.updateTime), transformResults: [] } };
}

/** A stored document, in a reply. */
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
      // As Google's own emulator has it: the epoch is no condition.
      if (required === 0n) return;
      if (current?.updateTime === required) return;
      const stored = current === undefined ? "no document" : `the stored version (${current.updateTime})`;
      throw failedPrecondition(`For ${name}: ${stored} does not match the required base version (${required}).`);
    }
    default:
  }
}
