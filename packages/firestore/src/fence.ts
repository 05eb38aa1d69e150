import type { DocumentReference, Transaction } from "@google-cloud/firestore";
import { FencedError } from "@leasehold/core";
import { ForeignRecordError, type Fenced } from "@leasehold/core/provider";

/**
 * Makes a transaction depend on a document with the term and the `termId` whose guarded writes may commit. The document is a
 * fence, or an occurrence's own record. After a break the occurrence's record still names its holder, so `broken` counts too.
 * @throws {FencedError} if the document does not belong to this leadership.
 */
export async function dependOn(document: DocumentReference, leadership: Fenced, transaction: Transaction): Promise<void> {
  const { election, term, termId } = leadership;
  const snapshot = await transaction.get(document);
  const found = (snapshot.data() ?? {}) as { readonly term?: unknown; readonly termId?: unknown; readonly broken?: unknown };
  // The user's settings may turn integers into bigints.
  const currentTerm = typeof found.term === "bigint" ? Number(found.term) : found.term;
  if (currentTerm === term && found.termId === termId && found.broken === undefined) return;
  if (snapshot.exists && !Number.isSafeInteger(currentTerm)) {
    throw new ForeignRecordError(election, `The document '${document.path}'`, "it has no term");
  }
  throw new FencedError(election, term, currentTerm as number | undefined, "the documents of this transaction");
}
