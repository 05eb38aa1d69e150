import { timestampOf, type ServerClock } from "./clock.ts";
import type { DatabaseNames } from "./database-names.ts";
import type { DocumentStore } from "./document-store.ts";
import { project } from "./field-path.ts";
import { Listener } from "./listener.ts";
import type {
  BatchGetDocumentsRequest,
  BatchGetDocumentsResponse,
  BatchWriteRequest,
  BatchWriteResponse,
  BeginTransactionRequest,
  CommitRequest,
  CommitResponse,
  Consistency,
  ListenResponse,
  RollbackRequest,
  RunQueryRequest,
  RunQueryResponse,
  Status,
  Write,
  WriteResult,
} from "./messages.ts";
import { Query } from "./queries.ts";
import { invalidArgument, statusOf, unimplemented } from "./status-error.ts";
import type { Transaction, Transactions } from "./transactions.ts";
import { documentMessage, documentNameOf, type StoredDocument } from "./writes.ts";

/** Each request's effect and answer, apart from how it came here. Each is one synchronous step. */
export class RequestHandlers {
  readonly #store: DocumentStore;
  readonly #clock: ServerClock;
  readonly #transactions: Transactions;
  readonly #databases: DatabaseNames;

  constructor(store: DocumentStore, clock: ServerClock, transactions: Transactions, databases: DatabaseNames) {
    this.#store = store;
    this.#clock = clock;
    this.#transactions = transactions;
    this.#databases = databases;
  }

  /** The replies come in the order of the request, which the service does not promise. */
  batchGetDocuments(request: BatchGetDocumentsRequest): readonly BatchGetDocumentsResponse[] {
    this.#databases.checkDocuments(request.database, request.documents);
    const { begun, transaction } = this.#transactionOf(request);
    const readTime = timestampOf(this.#clock.next());
    const replies = request.documents.map((name): BatchGetDocumentsResponse => {
      const document = this.#store.get(name);
      transaction?.record(() => versionsOf([this.#store.get(name)]));
      if (document === undefined) return { missing: name, readTime };
      const fields = request.mask === null ? document.fields : project(document.fields, request.mask.fieldPaths);
      return { found: documentMessage(document, fields), readTime };
    });
    return [...begun, ...replies];
  }

  runQuery(request: RunQueryRequest): readonly RunQueryResponse[] {
    this.#databases.checkParent(request.parent);
    if (request.explainOptions !== null) throw unimplemented("explaining queries");
    const query = new Query(request);
    const { begun, transaction } = this.#transactionOf(request);
    const readTime = timestampOf(this.#clock.next());
    const documents = query.run(this.#store.all());
    // The whole result, so that a document that is new in it is a conflict too.
    transaction?.record(() => versionsOf(query.run(this.#store.all())));
    if (documents.length === 0) return [...begun, { readTime }];
    return [...begun, ...documents.map((found) => ({ document: documentMessage(found, query.fieldsOf(found)), readTime }))];
  }

  beginTransaction(request: BeginTransactionRequest): { readonly transaction: Uint8Array } {
    this.#databases.check(request.database);
    return { transaction: this.#transactions.begin(request.options) };
  }

  /** A commit ends its transaction, whatever becomes of it. */
  commit({ database, writes, transaction: id }: CommitRequest): CommitResponse {
    this.#databases.checkDocuments(database, writes.map(documentNameOf));
    if (id.length > 0) {
      const transaction = this.#transactions.get(id);
      this.#transactions.end(id);
      if (transaction.isReadOnly && writes.length > 0) {
        throw invalidArgument("Cannot modify entities in a read-only transaction.");
      }
      transaction.checkReads();
    }
    return this.#store.commit(writes);
  }

  /** Carries out each write by itself. */
  batchWrite({ database, writes }: BatchWriteRequest): BatchWriteResponse {
    this.#databases.check(database);
    const results = writes.map((write) => this.#writeAlone(database, write));
    return { writeResults: results.map(({ result }) => result), status: results.map(({ status }) => status) };
  }

  /** One that is not known has been ended; the service refuses those that it never knew. */
  rollback(request: RollbackRequest): Record<string, never> {
    this.#databases.check(request.database);
    this.#transactions.end(request.transaction);
    return {};
  }

  listener(send: (response: ListenResponse) => void): Listener {
    return new Listener(this.#store, this.#clock, this.#databases, send);
  }

  #writeAlone(database: string, write: Write): { readonly result: WriteResult; readonly status: Status } {
    try {
      this.#databases.checkDocuments(database, [documentNameOf(write)]);
      const [result] = this.#store.commit([write]).writeResults;
      return { result: result ?? { transformResults: [] }, status: { code: 0, message: "" } };
    } catch (error) {
      const { code, message } = statusOf(error);
      return { result: { transformResults: [] }, status: { code, message } };
    }
  }

  /** The transaction that a read belongs to; `begun` is the first reply of a read that begins one. */
  #transactionOf(request: Consistency): {
    readonly begun: readonly { readonly transaction: Uint8Array }[];
    readonly transaction?: Transaction;
  } {
    switch (request.consistencySelector) {
      case "transaction":
        return { begun: [], transaction: this.#transactions.get(request.transaction) };
      case "newTransaction": {
        const id = this.#transactions.begin(request.newTransaction);
        return { begun: [{ transaction: id }], transaction: this.#transactions.get(id) };
      }
      case "readTime":
        throw unimplemented("reads of the past");
      default:
        return { begun: [] };
    }
  }
}

/** No two commits have the same time, so a name and a time stand for one version. */
function versionsOf(documents: readonly (StoredDocument | undefined)[]): string {
  return documents.map((document) => (document === undefined ? "" : `${document.name}@${document.updateTime}`)).join("\n");
}
