import type { DocumentReference, Transaction } from "@google-cloud/firestore";
import { FencedError, ForeignRecordError } from "@leasehold/core";
import type { Fenced } from "@leasehold/core/provider";

/**
 * Makes a transaction depend on a document that names whose guarded writes pass: a fence, or an occurrence's own record,
 * which still names its holder after a break.
 * @throws {FencedError} if they are not those of this leadership.
 */
export async function dependOn(document: DocumentReference, leadership: Fenced, transaction: Transaction): Promise<void> {
  const { election, term, termId } = leadership;
  const snapshot = await transaction.get(document);
  const found = (snapshot.data() ?? {}) as { readonly term?: unknown; readonly termId?: unknown; readonly broken?: unknown };
  // A user's settings may make integers bigints.
  const currentTerm = typeof found.term === "bigint" ? Number(found.term) : found.term;
  if (currentTerm === term && found.termId === termId && found.broken === undefined) return;
  if (snapshot.exists && !Number.isSafeInteger(currentTerm)) {
    throw new ForeignRecordError(election, `The document '${document.path}'`, "it has no term");
  }
  throw new FencedError(election, term, currentTerm as number | undefined, "the documents of this transaction");
}
