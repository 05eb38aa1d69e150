import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Certificates } from "./certificates.ts";
import { startDaemon } from "./daemon.ts";
import type { Daemon } from "./daemon.ts";
import { findProgram } from "./find-program.ts";
import { freePort } from "./free-port.ts";

/** A user of etcd's authentication. */
export interface EtcdUser {
  readonly user: string;
  readonly password: string;
}

/** An administrator with all rights; see {@link enableAuth}. */
export const ROOT: EtcdUser = { user: "root", password: "root's own" };

/** A member of etcd: the only one, or one of three. */
export interface Etcd extends Daemon {
  /** `http://127.0.0.1:20123`, or `https:` where it has a certificate. */
  readonly url: string;
  /** The flags of `etcdctl` with the member's address, and with a client's certificate if one is required. */
  readonly ctlFlags: readonly string[];
}

/** The options of a member. By default it serves every client, and has no data. */
export interface EtcdOptions {
  /** Makes it serve by TLS, and only clients with a certificate of the same authority. */
  readonly certificates?: Certificates | undefined;
  /** The lifetime of an unused token; each use extends it by the same time. @defaultValue 300 */
  readonly tokenTtlS?: number | undefined;
  /** A file of `etcdctl snapshot save`. Its data are the first data of a new cluster. */
  readonly snapshot?: string | undefined;
  /** @defaultValue a free port */
  readonly port?: number | undefined;
  /**
   * The time without a leader after which the members elect another. The shortest lease is 1.5 times that, in whole seconds.
   * @defaultValue 1000
   */
  readonly electionTimeoutMs?: number | undefined;
}

/** Why no etcd can be started on this machine; `undefined` if one can. */
export async function etcdMissing(): Promise<string | undefined> {
  const programs = await Promise.all(["etcd", "etcdctl"].map(findProgram));
  return programs.includes(undefined) ? "etcd is not installed: apt-get install etcd-server etcd-client" : undefined;
}

/**
 * Starts an etcd of one member on 127.0.0.1, with data of its own. The data are in memory if the system has such a folder,
 * because etcd waits for its disk at each write.
 * @throws an error with its log, if it ends or takes too long before it serves.
 */
export async function startEtcd(options: EtcdOptions = {}): Promise<Etcd> {
  return await startMember(options, { name: "m1", peers: { m1: "unix://m1:0" } });
}

/** Starts an etcd of three members. It needs two of them to work. */
export async function startEtcdCluster(options: EtcdOptions = {}): Promise<readonly [Etcd, Etcd, Etcd]> {
  const peers: Record<string, string> = {};
  for (const name of ["m1", "m2", "m3"]) peers[name] = `http://127.0.0.1:${await freePort()}`;
  const member = (name: string): Promise<Etcd> => startMember(options, { name, peers });
  return await Promise.all([member("m1"), member("m2"), member("m3")]);
}

/** Runs `etcdctl` at a member, as `as` where that is given, and returns what it prints. @throws what it writes, if it fails. */
export async function etcdctl(etcd: Etcd, args: readonly string[], as?: EtcdUser): Promise<string> {
  const user = as === undefined ? [] : ["--user", `${as.user}:${as.password}`];
  const env = { ...process.env, ETCDCTL_API: "3" };
  return (await promisify(execFile)("etcdctl", [...etcd.ctlFlags, ...user, ...args], { env })).stdout;
}

/**
 * Makes a password necessary for all requests. `user` may read and write the keys that begin with one of `prefixes`, and no
 * others.
 */
export async function enableAuth(
  etcd: Etcd,
  { user, password }: EtcdUser,
  prefixes: readonly string[],
  permission: "read" | "readwrite" = "readwrite",
): Promise<void> {
  await etcdctl(etcd, ["user", "add", `${ROOT.user}:${ROOT.password}`]);
  await etcdctl(etcd, ["user", "grant-role", ROOT.user, "root"]);
  await etcdctl(etcd, ["role", "add", "elections"]);
  for (const prefix of prefixes) {
    await etcdctl(etcd, ["role", "grant-permission", "elections", "--prefix=true", permission, prefix]);
  }
  await etcdctl(etcd, ["user", "add", `${user}:${password}`]);
  await etcdctl(etcd, ["user", "grant-role", user, "elections"]);
  await etcdctl(etcd, ["auth", "enable"]);
}

interface Membership {
  readonly name: string;
  /** The members' addresses for each other, by their names. */
  readonly peers: Readonly<Record<string, string>>;
}

async function startMember(options: EtcdOptions, { name, peers }: Membership): Promise<Etcd> {
  const [serve, ctl] = await Promise.all([findProgram("etcd"), findProgram("etcdctl")]);
  if (serve === undefined || ctl === undefined) throw new Error(await etcdMissing());
  const { certificates, snapshot, port, tokenTtlS = 300, electionTimeoutMs = 1_000 } = options;
  const origin = `${certificates === undefined ? "http" : "https"}://127.0.0.1`;
  const cluster = [
    `--name=${name}`,
    `--initial-advertise-peer-urls=${peers[name]}`,
    `--initial-cluster=${Object.entries(peers)
      .map((each) => each.join("="))
      .join(",")}`,
    "--data-dir={directory}/data",
  ];
  const daemon = await startDaemon("etcd", {
    directory: "etcd",
    inMemory: true,
    prepare: snapshot === undefined ? undefined : [ctl, "snapshot", "restore", snapshot, ...cluster],
    serve: [
      serve,
      ...cluster,
      `--listen-peer-urls=${peers[name]}`,
      `--listen-client-urls=${origin}:{port}`,
      `--advertise-client-urls=${origin}:{port}`,
      `--election-timeout=${electionTimeoutMs}`,
      `--heartbeat-interval=${electionTimeoutMs / 10}`,
      `--auth-token-ttl=${tokenTtlS}`,
      // The weakest hash that etcd has; the passwords here are no secrets.
      "--bcrypt-cost=4",
      ...(certificates === undefined ? [] : tlsFlags(certificates)),
    ],
    port,
    ready: "ready to serve client requests",
    endWith: "SIGKILL",
  });
  const url = `${origin}:${daemon.port}`;
  const tls = certificates?.client;
  const client = tls === undefined ? [] : [`--cacert=${certificates?.ca}`, `--cert=${tls.cert}`, `--key=${tls.key}`];
  return Object.assign(daemon, { url, ctlFlags: [`--endpoints=${url}`, ...client] });
}

function tlsFlags({ ca, server }: Certificates): readonly string[] {
  return [`--cert-file=${server.cert}`, `--key-file=${server.key}`, `--trusted-ca-file=${ca}`, "--client-cert-auth"];
}
