import { failure, leaseFailure, merged, objection, type Json, type LeaseObject, type Reply } from "./kubernetes-objects.ts";

/** A request as the API server gets it. */
export interface ApiCall {
  readonly method: string;
  /** The path and the query. */
  readonly path: string;
  readonly body?: Json | undefined;
  readonly contentType?: string | undefined;
  readonly token?: string | undefined;
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Json;
}

/** A watch that the server has accepted. */
export interface Watching {
  readonly timeoutSeconds: number | undefined;
  readonly leave: () => void;
}

interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: LeaseObject;
}

interface Watcher {
  readonly selects: (object: LeaseObject) => boolean;
  readonly bookmarks: boolean;
  readonly send: (event: WatchEvent) => void;
}

const MAX_HISTORY = 1_000;
const LEASES = /^\/apis\/coordination\.k8s\.io\/v1\/namespaces\/([^/]+)\/leases(?:\/([^/]+))?$/;
const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const VERBS: Readonly<Record<string, string>> = { GET: "get", POST: "create", PATCH: "patch", PUT: "update", DELETE: "delete" };

/**
 * The part of a Kubernetes API server that serves Leases, in memory. It does what these pages say; "concepts" is
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */
export class KubernetesApi {
  /** The tokens that the server accepts; `undefined`: any request. */
  tokens: ReadonlySet<string> | undefined;
  /** Reports whether the account has a right: the verb, and the name of a Lease if the request has one. */
  allows: (verb: string, name: string | undefined) => boolean = () => true;
  /** Returns the reply to give instead of carrying a request out; for 429, 500 and the like. */
  intercept: ((call: ApiCall) => Reply | undefined) | undefined;
  /** While true, a read of resourceVersion=0 shows the state before the last write. "concepts": it may be stale. */
  cacheLags = false;
  onWritten: ((before: LeaseObject | undefined, after: LeaseObject) => void) | undefined;
  readonly #namespaces: ReadonlySet<string>;
  readonly #objects = new Map<string, LeaseObject>();
  readonly #earlier = new Map<string, LeaseObject | undefined>();
  readonly #watchers = new Set<Watcher>();
  /** The Leases at the revision of a list's first page. "concepts": its pages show one snapshot. */
  readonly #snapshots = new Map<string, readonly LeaseObject[]>();
  #history: Change[] = [];
  /** etcd's first revision is 1, of an empty store. */
  #revision = 1;
  #compacted = 0;

  constructor(namespaces: readonly string[] = ["default"]) {
    this.#namespaces = new Set(namespaces);
  }

  handle(call: ApiCall): Reply {
    const refused = this.#refusal(call);
    if (refused) return refused;
    const url = new URL(call.path, "http://api");
    if (url.pathname === REVIEWS && call.method === "POST") return this.#review(call.body);
    const [, namespace, name] = LEASES.exec(url.pathname) ?? [];
    if (namespace === undefined) return { status: 404, body: { text: "404 page not found" } };
    const verb = name === undefined && call.method === "GET" ? "list" : (VERBS[call.method] ?? call.method);
    if (!this.allows(verb, name)) {
      return leaseFailure(403, "Forbidden", name ?? "", `is forbidden: the account cannot ${verb} resource "leases"`);
    }
    if (verb === "list") return this.#list(namespace, url.searchParams);
    if (verb === "create") return this.#create(namespace, call.body as unknown as LeaseObject);
    return this.#item(verb, `${namespace}/${name}`, name ?? "", url, call);
  }

  /** Begins a watch, or returns why not. The events of its beginning are sent before it returns. */
  watch(call: ApiCall, send: (event: WatchEvent) => void): Watching | Reply {
    const refused = this.#refusal(call);
    if (refused) return refused;
    const { pathname, searchParams } = new URL(call.path, "http://api");
    const [, namespace] = LEASES.exec(pathname) ?? [];
    const [, name] = /^metadata\.name=(.*)$/.exec(searchParams.get("fieldSelector") ?? "") ?? [];
    if (!this.allows("watch", name)) return leaseFailure(403, "Forbidden", name ?? "", "is forbidden: cannot watch");
    const selects = ({ metadata }: LeaseObject): boolean =>
      metadata.namespace === namespace && (name === undefined || metadata.name === name);
    const from = Number(searchParams.get("resourceVersion") ?? "0");
    // "concepts", Watch bookmarks and 410 Gone: the history is limited.
    if (from > 0 && from < this.#compacted) {
      send({ type: "ERROR", object: failure(410, "Expired", `too old resource version: ${from} (${this.#compacted})`).body });
      return { timeoutSeconds: 0, leave: () => undefined };
    }
    // "concepts", Semantics for watch: without a version it begins with synthetic events of the present state.
    const first = from > 0 ? this.#history.filter(({ revision }) => revision > from) : this.#present().map(added);
    for (const { type, object } of first) if (selects(object)) send({ type, object: asJson(object) });
    const watcher: Watcher = { selects, bookmarks: searchParams.get("allowWatchBookmarks") === "true", send };
    this.#watchers.add(watcher);
    const timeoutSeconds = Number(searchParams.get("timeoutSeconds") ?? Number.NaN);
    return {
      timeoutSeconds: Number.isNaN(timeoutSeconds) ? undefined : timeoutSeconds,
      leave: () => void this.#watchers.delete(watcher),
    };
  }

  /** Sends a bookmark to every watch that has asked for some. Only its resourceVersion is set. */
  bookmark(): void {
    const object = { kind: "Lease", metadata: { resourceVersion: String(this.#revision) } };
    for (const { bookmarks, send } of this.#watchers) if (bookmarks) send({ type: "BOOKMARK", object });
  }

  /** Forgets the history, as etcd does every five minutes. Watches that are behind, and pages of lists, get 410. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#history = [];
    this.#snapshots.clear();
  }

  /** Ends each watch with 410 Gone: its events came faster than it read them. */
  expireWatches(): void {
    const { body } = failure(410, "Expired", "The resourceVersion for the provided watch is too old.");
    for (const { send } of this.#watchers) send({ type: "ERROR", object: body });
    this.#watchers.clear();
  }

  /** Returns a Lease as an administrator sees it. */
  lease(name: string, namespace = "default"): LeaseObject | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  /** Changes a Lease as an administrator does, or makes it, without any check. */
  overwrite(name: string, change: Partial<LeaseObject>, namespace = "default"): void {
    const key = `${namespace}/${name}`;
    const { metadata, ...rest } = change;
    const present = this.#objects.get(key);
    const identity = { uid: `uid-${this.#revision}`, resourceVersion: "", ...present?.metadata, ...metadata, name, namespace };
    this.#write(key, { ...present, ...rest, metadata: identity });
  }

  remove(name: string, namespace = "default"): void {
    const key = `${namespace}/${name}`;
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    this.#revision += 1;
    this.#tell({ revision: this.#revision, type: "DELETED", object });
  }

  #refusal(call: ApiCall): Reply | undefined {
    // https://kubernetes.io/docs/reference/access-authn-authz/authentication/: an expired token is refused with 401
    if (this.tokens && !this.tokens.has(call.token ?? "")) return failure(401, "Unauthorized", "Unauthorized");
    return this.intercept?.(call);
  }

  #present(): readonly LeaseObject[] {
    return [...this.#objects.entries()].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object);
  }

  #item(verb: string, key: string, name: string, url: URL, { body, contentType }: ApiCall): Reply {
    const present = this.#objects.get(key);
    if (verb === "get") {
      const isOld = this.cacheLags && url.searchParams.get("resourceVersion") === "0" && this.#earlier.has(key);
      const found = isOld ? this.#earlier.get(key) : present;
      return found ? { status: 200, body: asJson(found) } : leaseFailure(404, "NotFound", name, "not found");
    }
    if (!present) return leaseFailure(404, "NotFound", name, "not found");
    if (verb === "delete") {
      this.remove(name, present.metadata.namespace);
      return { status: 200, body: { kind: "Status", apiVersion: "v1", status: "Success" } };
    }
    if (verb === "patch" && contentType !== "application/merge-patch+json") {
      return failure(415, "UnsupportedMediaType", `the body of the request was in an unknown format`);
    }
    const changed = (verb === "patch" ? merged(present, body) : body) as unknown as LeaseObject;
    return this.#update(key, name, present, changed);
  }

  /** https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#concurrency-control-and-consistency */
  #update(key: string, name: string, present: LeaseObject, changed: LeaseObject): Reply {
    const { resourceVersion } = changed.metadata;
    // A Lease has no unconditional update: pkg/registry/coordination/lease/strategy.go
    if (!/^[1-9]\d*$/.test(resourceVersion ?? "")) {
      return leaseFailure(422, "Invalid", name, "is invalid: metadata.resourceVersion: must be specified for an update");
    }
    if (resourceVersion !== present.metadata.resourceVersion) {
      return leaseFailure(409, "Conflict", name, "cannot be fulfilled: the object has been modified");
    }
    const wrong = objection(changed);
    if (wrong) return wrong;
    const metadata = { ...changed.metadata, name, namespace: present.metadata.namespace, uid: present.metadata.uid };
    const next = { ...changed, metadata };
    // An update that changes nothing is not written: apiserver/pkg/storage/etcd3/store.go
    const isSame = JSON.stringify(next) === JSON.stringify(present);
    return { status: 200, body: asJson(isSame ? present : this.#write(key, next)) };
  }

  #create(namespace: string, body: LeaseObject): Reply {
    if (!this.#namespaces.has(namespace)) {
      return failure(404, "NotFound", `namespaces "${namespace}" not found`, { name: namespace, kind: "namespaces" });
    }
    const { name, resourceVersion } = body.metadata;
    if (resourceVersion) return failure(400, "BadRequest", "resourceVersion should not be set on objects to be created");
    const wrong = objection(body);
    if (wrong) return wrong;
    const key = `${namespace}/${name}`;
    if (this.#objects.has(key)) return leaseFailure(409, "AlreadyExists", name, "already exists");
    const metadata = { ...body.metadata, namespace, uid: `uid-${this.#revision}` };
    return { status: 201, body: asJson(this.#write(key, { ...body, metadata })) };
  }

  #write(key: string, object: LeaseObject): LeaseObject {
    const before = this.#objects.get(key);
    this.#revision += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#revision) };
    const after = structuredClone({ ...object, metadata });
    this.#earlier.set(key, before);
    this.#objects.set(key, after);
    this.#tell({ revision: this.#revision, type: before ? "MODIFIED" : "ADDED", object: after });
    this.onWritten?.(before, after);
    return after;
  }

  #tell(change: Change): void {
    this.#history.push(change);
    if (this.#history.length > MAX_HISTORY) this.#compacted = (this.#history.shift() as Change).revision;
    for (const { selects, send } of this.#watchers) {
      if (selects(change.object)) send({ type: change.type, object: asJson(change.object) });
    }
  }

  /** "concepts", Retrieving large results sets in chunks. */
  #list(namespace: string, query: URLSearchParams): Reply {
    const limit = Number(query.get("limit") ?? Infinity);
    const token = query.get("continue");
    const [asked, after] = token === null ? ["", ""] : (JSON.parse(token) as [string, string]);
    // Without a version it is the present state: a first page, or the rest after an expired token.
    const version = asked === "" ? String(this.#revision) : asked;
    const kept = this.#snapshots.get(version) ?? (version === String(this.#revision) ? this.#present() : undefined);
    if (!kept) {
      const { status, body } = failure(410, "Expired", "The provided continue parameter is too old.");
      return { status, body: { ...body, metadata: { continue: JSON.stringify(["", after]) } } };
    }
    const rest = kept.filter(({ metadata }) => metadata.namespace === namespace && metadata.name > after);
    const items = rest.slice(0, limit);
    const last = items.at(-1)?.metadata.name;
    if (rest.length > items.length) this.#snapshots.set(version, kept);
    const more = rest.length > items.length ? { continue: JSON.stringify([version, last]) } : {};
    return { status: 200, body: { kind: "LeaseList", apiVersion: "v1", metadata: { resourceVersion: version, ...more }, items } };
  }

  /** https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access */
  #review(body: Json | undefined): Reply {
    if (!this.allows("review", undefined)) return failure(403, "Forbidden", "cannot create selfsubjectaccessreviews");
    const { spec } = body as {
      readonly spec: { readonly resourceAttributes: { readonly verb: string; readonly name?: string } };
    };
    const allowed = this.allows(spec.resourceAttributes.verb, spec.resourceAttributes.name);
    return { status: 201, body: { ...body, kind: "SelfSubjectAccessReview", status: { allowed } } };
  }
}

function added(object: LeaseObject): Change {
  return { revision: 0, type: "ADDED", object };
}

function asJson(object: LeaseObject): Json {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...object };
}
