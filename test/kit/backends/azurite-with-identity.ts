import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificates } from "./certificates.ts";
import { startServiceChild } from "./service-process.ts";

/** Azurite behind TLS, and the endpoint that Azure offers to a program there, which gives tokens to identities. */
export interface AzuriteWithIdentity extends AsyncDisposable {
  /** `https://127.0.0.1:<port>/devstoreaccount1/` */
  readonly accountUrl: string;
  /** The environment variables that the platform sets for a program, and the certificate to trust. */
  readonly environment: Readonly<Record<string, string>>;
  createContainer(name: string): Promise<void>;
}

/**
 * Starts both. Requests need a token. Only these identities get one, each by its client id. A program gets no access if it names
 * none of them, or if it has a key and no identity. Azurite does not check which identity may access which blob.
 */
export async function startAzuriteWithIdentity(...clientIds: readonly string[]): Promise<AzuriteWithIdentity> {
  await using starting = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "leasehold-azurite-tls-"));
  starting.defer(async () => rm(folder, { recursive: true, force: true }));
  const { ca } = await makeCertificates(folder);

  const script = new URL("./azurite-child.ts", import.meta.url);
  script.searchParams.set("tls", folder);
  const azurite = starting.use(await startServiceChild("Azurite", script));
  const secret = randomUUID();
  const endpoint = starting.use(await startIdentityEndpoint(secret, clientIds));
  const owned = starting.move();
  const accountUrl = `${azurite.url}/devstoreaccount1/`;
  const trusted = await readFile(ca);
  return {
    accountUrl,
    environment: { IDENTITY_ENDPOINT: endpoint.url, IDENTITY_HEADER: secret, NODE_EXTRA_CA_CERTS: ca },
    createContainer: async (name) => put(`${accountUrl}${name}?restype=container`, trusted),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/**
 * The endpoint of https://learn.microsoft.com/azure/app-service/overview-managed-identity#rest-endpoint-reference, also of
 * Container Apps.
 */
async function startIdentityEndpoint(
  secret: string,
  clientIds: readonly string[],
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((asked, answer) => {
    const query = new URL(asked.url ?? "", "http://127.0.0.1").searchParams;
    const clientId = query.get("client_id") ?? "";
    const granted = asked.headers["x-identity-header"] === secret && clientIds.includes(clientId);
    answer.writeHead(granted ? 200 : 400, { "content-type": "application/json" });
    const expires = Math.floor(Date.now() / 1_000) + 86_400;
    const token = { access_token: storageToken(), expires_on: expires, resource: query.get("resource"), client_id: clientId };
    answer.end(JSON.stringify(granted ? { ...token, token_type: "Bearer" } : { statusCode: 400, message: "No such identity." }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/msi/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns an unsigned token for the storage service. */
function storageToken(): string {
  const now = Math.floor(Date.now() / 1_000);
  const issuer = { iss: "https://sts.windows.net/00000000-0000-0000-0000-000000000000/", aud: "https://storage.azure.com" };
  const claims = { ...issuer, iat: now - 60, nbf: now - 60, exp: now + 86_400 };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.x`;
}

async function put(url: string, ca: Buffer): Promise<void> {
  const headers = { authorization: `Bearer ${storageToken()}`, "x-ms-version": "2025-11-05", "content-length": 0 };
  const asked = request(url, { method: "PUT", ca, headers }).end();
  const [answer] = (await once(asked, "response")) as [{ statusCode?: number; resume(): void }];
  answer.resume();
  if (answer.statusCode !== 201) throw new Error(`PUT ${url}: Azurite answered ${answer.statusCode}.`);
}
