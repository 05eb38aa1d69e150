import type { EtcdPath, EtcdReply, EtcdTransport, Json } from "@leasehold/etcd";

/** A transport to an etcd whose replies a test writes. */
export interface Scripted extends EtcdTransport {
  /** The requests so far, each with its token. */
  readonly requests: Array<{ readonly path: EtcdPath; readonly body: Json; readonly token: string | undefined }>;
}

/** @param reply returns the body of the reply to the n-th request, from 0, or throws. */
export function scripted(reply: (index: number, path: EtcdPath) => Json): Scripted {
  const requests: Scripted["requests"] = [];
  return {
    requests,
    async call(path, body, { token }): Promise<EtcdReply> {
      requests.push({ path, body, token });
      return await Promise.resolve({ body: reply(requests.length - 1, path), endpoint: "http://etcd" });
    },
    async *watch() {},
  };
}

/** Returns the header of a reply from a cluster whose last write had this revision. */
export function header(revision: number, clusterId = "14841639068965178418"): Json {
  return { header: { cluster_id: clusterId, member_id: "10276657743932975437", revision: String(revision), raft_term: "2" } };
}
