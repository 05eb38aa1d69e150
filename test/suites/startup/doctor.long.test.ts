import { readFile } from "node:fs/promises";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";
import { etcdMissing } from "@leasehold/test-kit/backends/etcd";
import { mariaDbMissing } from "@leasehold/test-kit/backends/mariadb";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { commandEnvironment } from "@leasehold/test-kit/processes/leasehold-command";
import { beforeAll, afterAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../packages/cli/src/command.ts";
import { inCommandWords } from "../../../packages/cli/src/command-words.ts";
import { ownSurroundings } from "../../../packages/cli/src/own-environment.ts";
import {
  ACCOUNT,
  allowReading,
  CLOSED,
  MISTAKES,
  READER,
  readableContainer,
  UNKNOWN,
  WRONG_KEY,
  type Services,
} from "./mistakes.ts";
import { startServices } from "./services.ts";
import { steady } from "./steady.ts";

/*
 * The same mistakes on a command line. `leasehold doctor` prints the text of the page of mistakes for each, in the
 * command's words, and ends with the right exit code.
 */

const PAGE = new URL("../../../docs/mistakes.md", import.meta.url);
/** The advice that doctor adds if nothing answers. */
const ADVICE = " Check the host, its port, and the way there: DNS, firewall, proxy.";

interface Made {
  readonly store: string;
  readonly env?: Readonly<Record<string, string>>;
}

type Mistake = (services: Services) => Made | Promise<Made>;

/** Excludes credentials from files of this machine's user, and from a metadata server. */
const NOBODY = {
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  METADATA_SERVER_DETECTION: "none",
};
const AWS = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_REGION: "eu-west-1" };

/** Those of {@link MISTAKES} that a URL can make. A URL always names a project, and Azure's identities are tried in turn. */
const MADE: Readonly<Record<string, Readonly<Record<string, Mistake>>>> = {
  "Azure Blob Storage": {
    "the key is wrong": ({ azurite }) => blobs(`AccountKey=${WRONG_KEY};BlobEndpoint=${azurite}/${ACCOUNT}`),
    "the container is missing": ({ azurite }) => ({
      store: `azure-blob://${ACCOUNT}/missing?connection-string-env=AZURE`,
      env: { AZURE: azuriteConnectionString(azurite) },
    }),
    "it may read and not write": async ({ azurite }) => {
      const { origin, search } = new URL(await readableContainer(azurite));
      return {
        store: `azure-blob://${ACCOUNT}/readable?connection-string-env=AZURE`,
        env: { AZURE: `BlobEndpoint=${origin}/${ACCOUNT};SharedAccessSignature=${search.slice(1)}` },
      };
    },
    "nobody listens": () => blobs(`AccountKey=${WRONG_KEY};BlobEndpoint=http://${CLOSED}/${ACCOUNT}`),
    "the host is unknown": () => blobs(`AccountKey=${WRONG_KEY};BlobEndpoint=http://${UNKNOWN}/${ACCOUNT}`),
  },
  DynamoDB: {
    "no region is set": () => ({ store: "dynamodb://leases" }),
    "nobody is logged in": ({ dynalite }) => ({ store: `dynamodb://leases?region=eu-west-1&endpoint=${dynalite}` }),
    "the table is missing": ({ dynalite }) => ({ store: `dynamodb://leases?endpoint=${dynalite}`, env: AWS }),
    "it may read and not write": ({ readableItems }) => ({ store: `dynamodb://leases?endpoint=${readableItems}`, env: AWS }),
    "nobody listens": () => ({ store: `dynamodb://leases?endpoint=http://${CLOSED}`, env: AWS }),
    "the host is unknown": () => ({ store: `dynamodb://leases?endpoint=http://${UNKNOWN}`, env: AWS }),
  },
  Firestore: {
    "nobody is logged in": () => ({ store: "firestore://acme/leasehold" }),
    "it may read and not write": ({ readableDocuments }) => documents(readableDocuments),
    "nobody listens": () => documents(CLOSED),
    "the host is unknown": () => documents(`${UNKNOWN}:443`),
  },
  Redis: {
    "the password is wrong": ({ redis }) => server(`reader:wrong@${redis}`),
    "no user is given": ({ redis }) => server(redis),
    "it may read and not write": ({ redis }) => server(`${READER.user}:${READER.password}@${redis}`),
    "nobody listens": () => server(CLOSED),
    "the host is unknown": () => server(UNKNOWN),
  },
  etcd: {
    "the password is wrong": ({ etcd }) => members("etcd", `reader:wrong@${new URL(etcd).host}`),
    "no user is given": ({ etcd }) => members("etcd", new URL(etcd).host),
    "it may read and not write": ({ etcd }) => members("etcd", `${READER.user}:${READER.password}@${new URL(etcd).host}`),
    "the URL says https, and etcd speaks http": ({ etcd }) =>
      members("etcds", `${READER.user}:${READER.password}@${new URL(etcd).host}`),
    "another service is there": ({ azurite }) => members("etcd", new URL(azurite).host),
    "nobody listens": () => members("etcd", CLOSED),
    "the host is unknown": () => members("etcd", UNKNOWN),
  },
  MySQL: servers("mysql"),
  PostgreSQL: servers("postgres"),
  SQLite: {
    "the folder is missing": () => ({ store: "sqlite:///no/such/folder/leases.db" }),
    "the file is no database": ({ text }) => ({ store: `sqlite://${text}` }),
  },
};
const surroundingsHere = ownSurroundings({ isTerminal: false, write: () => {} });
const NOT_BY_URL = ["Azure Blob Storage: nobody is logged in", "Firestore: no project is set"];

function blobs(settings: string): Made {
  return {
    store: `azure-blob://${ACCOUNT}/leases?connection-string-env=AZURE`,
    env: { AZURE: `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};${settings}` },
  };
}

function documents(host: string): Made {
  return { store: `firestore://acme/leasehold?endpoint=http://${host}` };
}

function members(scheme: "etcd" | "etcds", authority: string): Made {
  return { store: `${scheme}://${authority}` };
}

function server(authority: string): Made {
  return { store: `redis://${authority}` };
}

function servers(kind: "mysql" | "postgres"): Readonly<Record<string, Mistake>> {
  const made = (services: Services, changes: Partial<URL>): Made => ({
    store: Object.assign(new URL(services[kind]), changes).href,
  });
  return {
    "the user is unknown": (services) => made(services, { username: "stranger", password: "wrong" }),
    "the database is missing": (services) => made(services, { pathname: "/missing" }),
    "the tables are missing": (services) => made(services, {}),
    "it may read and not write": async (services) => {
      await allowReading[kind](services[kind]);
      return made(services, { username: "reader", password: "lamplight", pathname: "/readable" });
    },
    "nobody listens": (services) => made(services, { host: CLOSED }),
    "the host is unknown": (services) => made(services, { hostname: UNKNOWN }),
  };
}

const CASES = Object.entries(MADE).flatMap(([title, made]) =>
  Object.entries(made).map(([mistake, make]) => [title, mistake, make] as const),
);
const missing = (await isMissing(etcdMissing())) || (await isMissing(mariaDbMissing())) || (await isMissing(postgresMissing()));

describe.skipIf(missing)("leasehold doctor", () => {
  let services: Awaited<ReturnType<typeof startServices>>;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(async () => await services[Symbol.asyncDispose]());

  test.for(CASES)("%s: %s", async ([title, mistake, make]) => {
    const expected = await told(title, mistake);
    const { exitCode, stdout } = await doctor(await make(services));
    const { outcome, message } = (JSON.parse(stdout) as Array<{ outcome: string; message: string }>).at(-1)!;
    expect(outcome).toBe("failed");
    expect(asOfAny(inCommandWords(expected.text))).toContain(asOfAny(steady(message.replace(ADVICE, ""))));
    expect(exitCode).toBe(expected.isLocal ? 78 : 69);
    expect(message.endsWith(ADVICE)).toBe(expected.goesOn);
  });

  test("every mistake of the page is made, that a URL can make", () => {
    const all = Object.entries(MISTAKES).flatMap(([title, mistakes]) =>
      Object.keys(mistakes).map((mistake) => `${title}: ${mistake}`),
    );
    expect([...CASES.map(([title, mistake]) => `${title}: ${mistake}`), ...NOT_BY_URL].toSorted()).toEqual(all.toSorted());
  });
});

/** An elector's first write and doctor's write are two requests, to one table or another. */
function asOfAny(said: string): string {
  return said
    .replace(/'[a-z-]+' of/, "a request of")
    .replace(/(INSERT|UPDATE) command|table leasehold_(leases|fences)\./, "a write");
}

/** Returns the page's text about a mistake. */
async function told(
  title: string,
  mistake: string,
): Promise<{ readonly text: string; readonly isLocal: boolean; readonly goesOn: boolean }> {
  const section = (await readFile(PAGE, "utf8")).split(`## ${title}\n`)[1]!;
  const [, does = "", text = ""] = new RegExp(`^${mistake}: run (.*)\\n {4}(.*)$`, "m").exec(section)!;
  return { text, isLocal: does.includes("at once"), goesOn: does === "goes on" };
}

/** Runs doctor in this process. Nothing else uses the process's environment meanwhile. */
async function doctor({ store, env: credentials }: Made): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  const own = process.env;
  const env = commandEnvironment({ ...NOBODY, LEASEHOLD_STORE: store, ...credentials });
  // SDKs look for credentials there.
  process.env = env;
  let stdout = "";
  const surroundings = {
    ...surroundingsHere,
    env,
    stdout: { isTerminal: false, write: (text: string) => void (stdout += text) },
    stderr: { isTerminal: false, write: () => undefined },
  };
  try {
    const exitCode = await runCommand(["doctor", "--election", "nightly-billing", "--json"], surroundings);
    return { exitCode, stdout };
  } finally {
    process.env = own;
  }
}
