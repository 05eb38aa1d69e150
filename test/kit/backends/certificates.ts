import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { findProgram } from "./find-program.ts";

/** The certificates, as PEM files. */
export interface Certificates {
  /** The authority that has signed the others. */
  readonly ca: string;
  /** A server's on 127.0.0.1. The server may use it as a client too, as etcd's gateway does. */
  readonly server: KeyPair;
  /** A client's, without a common name: if authentication is on, etcd's gateway accepts no other. */
  readonly client: KeyPair;
  /** A client's with a common name. */
  readonly named: KeyPair;
}

export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** Returns why no certificates can be made here; `undefined` if they can. */
export async function opensslMissing(): Promise<string | undefined> {
  return (await findProgram("openssl")) ? undefined : "openssl is missing: apt-get install openssl";
}

/** Makes a certificate authority in `folder`, which is valid for two days, and the certificates that it signs. */
export async function makeCertificates(folder: string): Promise<Certificates> {
  const ca = keyPair(folder, "ca");
  await openssl("req", "-x509", "-days", "2", ...newKey(ca), "-out", ca.cert, "-subj", "/CN=tests");
  const signed = async (name: string, subject: string, extensions: string): Promise<KeyPair> => {
    const pair = keyPair(folder, name);
    const request = join(folder, `${name}.csr`);
    const settings = join(folder, `${name}.ext`);
    await writeFile(settings, extensions);
    await openssl("req", ...newKey(pair), "-out", request, "-subj", subject);
    const authority = ["-CA", ca.cert, "-CAkey", ca.key, "-set_serial", `0x${Buffer.from(name).toString("hex")}`];
    await openssl("x509", "-req", "-days", "2", "-in", request, ...authority, "-extfile", settings, "-out", pair.cert);
    return pair;
  };
  const [server, client, named] = await Promise.all([
    signed("server", "/O=tests", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"),
    signed("client", "/O=tests", "extendedKeyUsage=clientAuth\n"),
    signed("named", "/CN=client", "extendedKeyUsage=clientAuth\n"),
  ]);
  return { ca: ca.cert, server, client, named };
}

function keyPair(folder: string, name: string): KeyPair {
  return { cert: join(folder, `${name}.pem`), key: join(folder, `${name}-key.pem`) };
}

function newKey({ key }: KeyPair): readonly string[] {
  return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key];
}

async function openssl(...args: readonly string[]): Promise<void> {
  await promisify(execFile)("openssl", args);
}
