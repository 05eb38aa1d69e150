import { timestampOf, type ServerClock } from "./clock.ts";
import type { DatabaseNames } from "./database-names.ts";
import type { DocumentStore } from "./document-store.ts";
import type { ListenRequest, ListenResponse, Target, Timestamp } from "./messages.ts";
import { invalidArgument, statusOf, unimplemented } from "./status-error.ts";
import { documentMessage } from "./writes.ts";

/** Documents that a client listens to. */
interface Listening {
  readonly id: number;
  readonly names: readonly string[];
  /** The documents that the client has: the version of each. */
  readonly sent: Map<string, bigint>;
}

/**
 * One Listen stream and its targets. After every commit the client gets all changes of its targets, before the readTime at which
 * they are complete. So the client never shows half of a commit. A resumed target is reset, and gets all of its documents again;
 * the service sends only later changes.
 */
export class Listener {
  readonly #store: DocumentStore;
  readonly #clock: ServerClock;
  readonly #databases: DatabaseNames;
  readonly #send: (response: ListenResponse) => void;
  readonly #targets = new Map<number, Listening>();
  readonly #unsubscribe: () => void;

  constructor(store: DocumentStore, clock: ServerClock, databases: DatabaseNames, send: (response: ListenResponse) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#databases = databases;
    this.#send = send;
    this.#unsubscribe = store.onCommit(() => this.#onCommit());
  }

  /** @throws a status, which ends the stream. */
  handle(request: ListenRequest): void {
    this.#databases.check(request.database);
    if (request.targetChange === "addTarget") this.#add(request.database, request.addTarget);
    else if (request.targetChange === "removeTarget") this.#remove(request.removeTarget);
    else throw invalidArgument("A listen request must add or remove a target.");
  }

  /** Sends nothing from now on. */
  close(): void {
    this.#unsubscribe();
    this.#targets.clear();
  }

  #add(database: string, target: Target): void {
    const targetIds = [target.targetId];
    let names: readonly string[];
    try {
      if (target.once) throw unimplemented("targets that are read once");
      if (target.targetType !== "documents") throw unimplemented("listeners to queries");
      names = target.documents.documents;
      this.#databases.checkDocuments(database, names);
    } catch (error) {
      // A refused target does not end the stream. Otherwise Google's client would open the stream again and again.
      const { code, message } = statusOf(error);
      this.#send({ targetChange: { targetChangeType: "REMOVE", targetIds, cause: { code, message } } });
      return;
    }
    const listening: Listening = { id: target.targetId, names, sent: new Map() };
    this.#targets.set(target.targetId, listening);
    this.#send({ targetChange: { targetChangeType: "ADD", targetIds } });
    if (target.resumeType !== undefined) this.#send({ targetChange: { targetChangeType: "RESET", targetIds } });
    const micros = this.#clock.next();
    const readTime = timestampOf(micros);
    const missing = names.filter((name) => this.#store.get(name) === undefined);
    for (const document of missing) this.#send({ documentDelete: { document, removedTargetIds: targetIds, readTime } });
    this.#sendChanges(listening, readTime);
    this.#send({ targetChange: { targetChangeType: "CURRENT", targetIds, readTime, resumeToken: tokenOf(micros) } });
    this.#sendComplete(micros);
  }

  #remove(id: number): void {
    this.#targets.delete(id);
    this.#send({ targetChange: { targetChangeType: "REMOVE", targetIds: [id] } });
  }

  #onCommit(): void {
    const micros = this.#clock.next();
    const readTime = timestampOf(micros);
    const changed = [...this.#targets.values()].filter((listening) => this.#sendChanges(listening, readTime));
    if (changed.length > 0) this.#sendComplete(micros);
  }

  /** Sends the changes of one target. Returns whether there are any. */
  #sendChanges({ id, names, sent }: Listening, readTime: Timestamp): boolean {
    const found = names.flatMap((name) => this.#store.get(name) ?? []);
    const changed = found.filter(({ name, updateTime }) => sent.get(name) !== updateTime);
    for (const document of changed) {
      sent.set(document.name, document.updateTime);
      this.#send({ documentChange: { document: documentMessage(document), targetIds: [id] } });
    }
    const gone = [...sent.keys()].filter((name) => this.#store.get(name) === undefined);
    for (const document of gone) {
      sent.delete(document);
      this.#send({ documentDelete: { document, removedTargetIds: [id], readTime } });
    }
    return changed.length + gone.length > 0;
  }

  /** Sends the client that its state is complete at that time, for every target. */
  #sendComplete(micros: bigint): void {
    const readTime = timestampOf(micros);
    this.#send({ targetChange: { targetChangeType: "NO_CHANGE", targetIds: [], readTime, resumeToken: tokenOf(micros) } });
  }
}

function tokenOf(micros: bigint): Uint8Array {
  return Buffer.from(String(micros));
}
