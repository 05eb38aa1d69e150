import { AnonymousCredential, BlobClient, BlobServiceClient, ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore, type BlobLeaseStoreOptions } from "@leasehold/azure-blob";
import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import { beforeEach, describe, expect, vi } from "vitest";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

const identity = vi.hoisted(() => ({ loaded: 0, made: 0, asked: [] as unknown[] }));
vi.mock("@azure/identity", () => {
  identity.loaded += 1;
  return {
    DefaultAzureCredential: class {
      constructor() {
        identity.made += 1;
      }
      async getToken(scopes: unknown): Promise<{ token: string; expiresOnTimestamp: number }> {
        identity.asked.push(scopes);
        // The SDK asks again for each request.
        return { token: "token-that-is-secret", expiresOnTimestamp: Date.now() };
      }
    },
  };
});

const SECRET_KEY = "c2VjcmV0IGFjY291bnQga2V5";
const SAS = "sv=2024-11-04&sig=c2VjcmV0IHNpZ25hdHVyZQ%3D%3D";

/** The four ways to give the place of the leases. */
function ways(world: BlobWorld): Readonly<Record<string, BlobLeaseStoreOptions>> {
  const { containerName } = world.container;
  const { credential } = world.proxied;
  return {
    container: { container: world.proxied },
    "a blob": { blob: world.proxied.getBlobClient(ELECTION) },
    connectionString: { connectionString: azuriteConnectionString(world.proxy.url), containerName },
    accountUrl: { accountUrl: `${world.proxy.url}/devstoreaccount1`, containerName, credential: credential as never },
    "accountUrl with a slash at its end": {
      accountUrl: `${world.proxy.url}/devstoreaccount1/`,
      containerName,
      credential: credential as never,
    },
  };
}

describe("a place for leases", () => {
  test("is the same in each of the four ways", async ({ world }) => {
    let term = 0;
    for (const [way, options] of Object.entries(ways(world))) {
      const store = new BlobLeaseStore({ ...options, clock: world.clock, createContainer: true });
      const lease = await win(store);
      expect(lease.term, way).toBe((term += 1));
      await store.release(lease, LIMITS);
    }
    await expect(world.blob.getProperties()).resolves.toMatchObject({ metadata: { leasehold_term: String(term) } });
  });

  test("given as a blob whose name contains the container's is that blob", async ({ world }) => {
    const { containerName } = world.container;
    for (const name of [
      `jobs/${containerName}/nightly`,
      `${containerName}/${containerName}`,
      "a/b",
      "100%",
      "what?#",
      "ä 🔧",
      "devstoreaccount1/x",
    ]) {
      const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient(name), clock: world.clock, createContainer: true });
      await win(store, { election: name });
      await expect(world.container.getBlobClient(name).getProperties(), name).resolves.toMatchObject({ leaseState: "leased" });
    }
  });

  test("given as a blob holds one election, named like it", async ({ world }) => {
    const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient(ELECTION), clock: world.clock, createContainer: true });

    for (const attempt of [() => store.read("another"), () => store.acquire(acquiring({ election: "another" }))]) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(`'${ELECTION}'`);
    }
    expect(world.requests).toEqual([]);
  });

  test("keeps the signature of a client that has one", async ({ world }) => {
    const { url } = world.proxied;
    for (const options of [
      { container: new ContainerClient(`${url}?${SAS}`) },
      { blob: new BlobClient(`${url}/${ELECTION}?${SAS}`) },
      {
        accountUrl: `${world.proxy.url}/devstoreaccount1?${SAS}`,
        containerName: world.container.containerName,
        credential: new AnonymousCredential(),
      },
    ]) {
      const store = new BlobLeaseStore({ ...options, clock: world.clock, createContainer: true });
      const [request] = await world.requestsDuring(() => world.witness.failureOf(store.read(ELECTION)));
      expect(request?.query.get("sig")).toBe("c2VjcmV0IHNpZ25hdHVyZQ==");
      expect(request?.path).toBe(`/devstoreaccount1/${world.container.containerName}/${ELECTION}`);
    }
  });

  test("is described only by names in errors", async ({ world }) => {
    await world.container.create();
    await world.container.getBlockBlobClient(ELECTION).upload("report", 6);
    const error = await world.witness.failureOf(world.store().read(ELECTION));

    expect(error.message).toContain(`the blob '${ELECTION}' in container '${world.container.containerName}'`);
    expect(error.message).not.toContain("http");
  });
});

describe("an impossible place is a configuration error before any request", () => {
  const container = (): ContainerClient => containerClient("http://127.0.0.1:1");
  const connectionString = `DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${SECRET_KEY};EndpointSuffix=core.windows.net`;
  const accountUrl = "https://acme.blob.core.windows.net";

  const bad: Readonly<Record<string, () => unknown>> = {
    "nothing at all": () => undefined,
    null: () => null,
    "no place": () => ({}),
    "a place and another": () => ({ container: container(), connectionString }),
    "a container and a blob": () => ({ container: container(), blob: container().getBlobClient("a") }),
    "a container of no kind": () => ({ container: "leases" }),
    "a container that is null": () => ({ container: null }),
    "a container that is a blob": () => ({ container: container().getBlobClient("a") }),
    "a container that is a service": () => ({ container: BlobServiceClient.fromConnectionString(connectionString) }),
    "a container that is a URL": () => ({ container: new URL(accountUrl) }),
    "a blob that is a container": () => ({ blob: container() }),
    "a blob of no kind": () => ({ blob: "nightly" }),
    "a connection string without a container": () => ({ connectionString }),
    "a connection string that is none": () => ({ connectionString: SECRET_KEY, containerName: "leases" }),
    "a connection string that is empty": () => ({ connectionString: "", containerName: "leases" }),
    "a connection string without an account": () => ({ connectionString: `AccountKey=${SECRET_KEY}`, containerName: "leases" }),
    "a connection string that is no string": () => ({ connectionString: { key: SECRET_KEY }, containerName: "leases" }),
    "a connection string with a key that is none": () => ({
      connectionString: connectionString.replace(SECRET_KEY, "?"),
      containerName: "leases",
    }),
    "a URL without a container": () => ({ accountUrl, credential: new AnonymousCredential() }),
    "a URL that is none": () => ({ accountUrl: `acme.blob.core.windows.net?${SAS}`, containerName: "leases" }),
    "a URL that is empty": () => ({ accountUrl: "", containerName: "leases" }),
    "a URL of another protocol": () => ({ accountUrl: "ftp://acme.blob.core.windows.net", containerName: "leases" }),
    "a credential that is a key": () => ({ accountUrl, containerName: "leases", credential: SECRET_KEY }),
    "a credential of no kind": () => ({ accountUrl, containerName: "leases", credential: {} }),
    ...Object.fromEntries(
      ["", "ab", "x".repeat(64), "Leases", "my_leases", "-leases", "leases-", "my--leases", "a/b", "a.b", "$web ", 7, null].map(
        (containerName) => [`a container called ${JSON.stringify(containerName)}`, () => ({ connectionString, containerName })],
      ),
    ),
  };

  test.for(Object.entries(bad))("%s", ([, make], { world }) => {
    world.witness.keep(SECRET_KEY, "c2VjcmV0IHNpZ25hdHVyZQ==");
    const refused = refusalOf(make() as BlobLeaseStoreOptions);
    world.witness.hear(refused);

    expect(refused).toBeInstanceOf(ConfigurationError);
    expect(isLeaseholdError(refused, "CONFIGURATION")).toBe(true);
    expect((refused as Error).message.length).toBeGreaterThan(40);
    expect(identity.made).toBe(0);
  });

  test("a container's name that may be a key in the wrong place is not repeated; a shorter one is", () => {
    const message = (containerName: string): string => String(refusalOf({ connectionString, containerName }));
    expect(message(SECRET_KEY.repeat(3))).toContain("containerName is of 72 characters;");
    expect(message("x".repeat(64))).toContain("containerName is of 64 characters;");
    expect(message("X".repeat(63))).toContain(`containerName is "${"X".repeat(63)}";`);
  });

  test("the store of fleets is made once", () => {
    const store = new BlobLeaseStore({ connectionString, containerName: "leases" });
    expect(store.fleets).toBe(store.fleets);
  });

  test("an object that is not a client is refused with the right kind of client", () => {
    expect(String(refusalOf({ container: {} as never }))).toContain("container is not a ContainerClient of @azure/storage-blob.");
    expect(String(refusalOf({ blob: {} as never }))).toContain("blob is not a BlobClient of @azure/storage-blob.");
  });

  test.for(["abc", "leases-of-acme", "0", "$root"].filter((name) => name.length > 1))(
    "a container called %s can be",
    (containerName) => {
      expect(() => new BlobLeaseStore({ connectionString, containerName })).not.toThrow();
    },
  );
});

describe("without a credential", () => {
  beforeEach(() => {
    identity.made = 0;
    identity.asked.length = 0;
  });

  test("DefaultAzureCredential is loaded at the first request and not before, once", async ({ world }) => {
    const store = new BlobLeaseStore({ accountUrl: "https://127.0.0.1:1", containerName: "leases", clock: world.clock });
    const other = new BlobLeaseStore({ container: world.proxied, clock: world.clock });
    await other.read(ELECTION);
    expect(identity).toMatchObject({ made: 0, asked: [] });
    world.witness.keep("token-that-is-secret");

    const errors = [await world.witness.failureOf(store.read(ELECTION)), await world.witness.failureOf(store.read(ELECTION))];

    expect(identity).toMatchObject({ made: 1, asked: { length: 2 } });
    expect([identity.asked[0]].flat()).toEqual(["https://storage.azure.com/.default"]);
    for (const error of errors) expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "head" });
  });

  test("a token is not sent without TLS, and the error says so", async ({ world }) => {
    const accountUrl = `${world.proxy.url}/devstoreaccount1`;
    const store = new BlobLeaseStore({
      accountUrl,
      containerName: world.container.containerName,
      clock: world.clock,
      createContainer: true,
    });

    const error = await world.witness.failureOf(store.read(ELECTION));

    expect(error.message).toContain("TLS");
    expect(world.requests).toEqual([]);
  });

  test("a credential without a token is an error with the reason, and nothing was sent", async ({ world }) => {
    const credential = {
      getToken: async () => {
        throw Object.assign(new Error("The managed identity does not answer."), { name: "CredentialUnavailableError" });
      },
    };
    const store = new BlobLeaseStore({
      accountUrl: "https://127.0.0.1:1",
      containerName: "leases",
      credential,
      clock: world.clock,
    });

    const error = await world.witness.failureOf(store.read(ELECTION));

    expect(error).toMatchObject({ code: "STORE_UNAUTHENTICATED", operation: "head", mayHaveBeenApplied: false });
    expect(error.message).toContain("The managed identity does not answer.");
  });
});

function refusalOf(options: BlobLeaseStoreOptions): unknown {
  try {
    return new BlobLeaseStore(options);
  } catch (error) {
    return error;
  }
}
