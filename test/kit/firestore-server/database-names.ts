import { invalidArgument, notFound } from "./status-error.ts";

/** Checks that a database exists, and that the names in a request are in its database. */
export class DatabaseNames {
  readonly #ids: ReadonlySet<string>;

  /** @param ids the ids of the databases that exist, in every project */
  constructor(ids: Iterable<string>) {
    this.#ids = new Set(ids);
  }

  /** @throws NOT_FOUND, as the service, if `database` (`projects/<project>/databases/<id>`) does not exist. */
  check(database: string): void {
    const [, project, id] = /^projects\/([^/]+)\/databases\/([^/]+)$/u.exec(database) ?? [];
    if (project === undefined || id === undefined) throw invalidArgument(`Not the name of a database: "${database}".`);
    if (!this.#ids.has(id)) throw notFound(`The database ${id} does not exist for project ${project}.`);
  }

  /** @throws INVALID_ARGUMENT if one of `documents` is not the name of a document in `database`. */
  checkDocuments(database: string, documents: Iterable<string>): void {
    this.check(database);
    const prefix = `${database}/documents/`;
    for (const document of documents) {
      if (!document.startsWith(prefix) || !/^[^/]+\/[^/]+(?:\/[^/]+\/[^/]+)*$/u.test(document.slice(prefix.length))) {
        throw invalidArgument(`Not the name of a document in ${database}: "${document}".`);
      }
    }
  }
}
