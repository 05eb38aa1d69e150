import { timestampOf, type ServerClock } from "./clock.ts";
import type { DatabaseNames } from "./database-names.ts";
import type { DocumentStore } from "./document-store.ts";
import { Listener } from "./listener.ts";
import type {
  BatchGetDocumentsRequest,
  BatchGetDocumentsResponse,
  BeginTransactionRequest,
  CommitRequest,
  CommitResponse,
  Consistency,
  ListenResponse,
  RollbackRequest,
  RunQueryRequest,
  RunQueryResponse,
} from "./messages.ts";
import { nameQueryOf } from "./query.ts";
import { unimplemented } from "./status-error.ts";
import type { Transaction, Transactions } from "./transactions.ts";
import { documentMessage, documentNameOf } from "./writes.ts";

/** Carries out each request and returns its answer, independent of the transport. Each is one synchronous step. */
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

  /** The replies have the order of the request, which the service does not promise. */
  batchGetDocuments(request: BatchGetDocumentsRequest): readonly BatchGetDocumentsResponse[] {
    this.#databases.checkDocuments(request.database, request.documents);
    if (request.mask !== null) throw unimplemented("reads of a part of a document");
    const { begun, transaction } = this.#transactionOf(request);
    const readTime = timestampOf(this.#clock.next());
    const replies = request.documents.map((name): BatchGetDocumentsResponse => {
      const document = this.#store.get(name);
      transaction?.record(name, document?.updateTime);
      return document === undefined ? { missing: name, readTime } : { found: documentMessage(document), readTime };
    });
    return [...begun, ...replies];
  }

  /** The last reply has no document, and says when the documents were read. */
  runQuery(request: RunQueryRequest): readonly RunQueryResponse[] {
    const [database = ""] = request.parent.split("/documents", 1);
    this.#databases.check(database);
    const { collection, limit, matches } = nameQueryOf(request);
    const readTime = timestampOf(this.#clock.next());
    const found = this.#store.inCollection(collection).filter(({ name }) => matches(name));
    return [...found.slice(0, limit).map((document) => ({ document: documentMessage(document), readTime })), { readTime }];
  }

  beginTransaction(request: BeginTransactionRequest): { readonly transaction: Uint8Array } {
    this.#databases.check(request.database);
    return { transaction: this.#transactions.begin(request.options) };
  }

  /** A commit ends its transaction, also if it fails. */
  commit({ database, writes, transaction: id }: CommitRequest): CommitResponse {
    this.#databases.checkDocuments(database, writes.map(documentNameOf));
    if (id.length > 0) {
      const transaction = this.#transactions.get(id);
      this.#transactions.end(id);
      transaction.checkReads((name) => this.#store.get(name)?.updateTime);
    }
    return this.#store.commit(writes);
  }

  /** An unknown transaction counts as ended; the service refuses one that it never knew. */
  rollback(request: RollbackRequest): Record<string, never> {
    this.#databases.check(request.database);
    this.#transactions.end(request.transaction);
    return {};
  }

  listener(send: (response: ListenResponse) => void): Listener {
    return new Listener(this.#store, this.#clock, this.#databases, send);
  }

  /** Returns the transaction to which a read belongs. `begun` is the first reply of a read that begins one. */
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
