import { readFile } from "node:fs/promises";
import { ConfigurationError, isLeaseholdError, type LeaseStore } from "@leasehold/core";
import type { QuorumMember } from "@leasehold/quorum";
import { loadProvider } from "./provider.ts";
import { disposable, type StoreKind, type StorePlace } from "./store-kind.ts";
import type { StoreUrl } from "./store-url.ts";

type QuorumModule = typeof import("@leasehold/quorum");
type Opened = LeaseStore & AsyncDisposable;
/** A store that is to be a member. The quorum itself checks that the store can keep records for it. */
type OpenedMember = QuorumMember & Opened;

const LOOKS = 'it is an object of JSON, {"aws": "dynamodb://leases?region=eu-west-1", "gcp": "firestore://PROJECT/leases", …}';

/**
 * A quorum of stores. A file lists the stores' URLs by the members' names. As parameters of one URL, they would need to be
 * encoded twice, and could have no passwords in an argument.
 * @param open opens a member's URL.
 */
export function quorumOf(open: (url: string, place: StorePlace) => Promise<Opened>): StoreKind {
  return {
    example: "quorum:///etc/leasehold/members.json",
    parameters: [],
    check({ authority, path }) {
      if (authority === "" && path !== "") return;
      throw new ConfigurationError(
        "a URL of quorum: has three slashes and the absolute path of a file: quorum:///etc/leasehold/members.json.",
      );
    },
    async open(url, place) {
      const file = fileOf(url);
      const urls = await membersIn(file);
      const { module } = await loadProvider<QuorumModule>("@leasehold/quorum", place);
      const opened: Array<readonly [name: string, store: OpenedMember]> = [];
      const close = async (): Promise<void> => void (await Promise.all(opened.map(([, store]) => store[Symbol.asyncDispose]())));
      try {
        for (const [name, text] of Object.entries(urls)) {
          opened.push([name, (await ofMember(file, name, () => open(text, place))) as OpenedMember]);
        }
        return disposable(new module.QuorumLeaseStore({ members: Object.fromEntries(opened) }), close);
      } catch (error) {
        await close();
        throw error;
      }
    },
  };
}

function fileOf({ path }: StoreUrl): string {
  return process.platform === "win32" ? path : `/${path}`;
}

/** @throws {ConfigurationError} if the file cannot be read or has other content. No message repeats the content: see `parsed`. */
async function membersIn(file: string): Promise<Readonly<Record<string, string>>> {
  let content: string;
  try {
    content = await readFile(file, "utf8");
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    throw new ConfigurationError(`the quorum's file ${file} cannot be read (${code}); ${LOOKS}.`, { cause });
  }
  const urls = parsed(content);
  if (typeof urls !== "object" || urls === null || !Object.values(urls).every((url) => typeof url === "string")) {
    throw new ConfigurationError(`the quorum's file ${file} does not list stores' URLs by the members' names; ${LOOKS}.`);
  }
  const members = Object.entries(urls as Record<string, string>);
  for (const [at, [name, url]] of members.entries()) {
    const twin = members.slice(0, at).find(([, other]) => other === url)?.[0];
    if (twin === undefined) continue;
    throw new ConfigurationError(
      `in the quorum's file ${file}, ${twin} and ${name} are the same store, which would fail together.`,
    );
  }
  return urls as Record<string, string>;
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    // The parser's error repeats the content, which may have passwords. So drop the error.
    return undefined;
  }
}

async function ofMember<T>(file: string, name: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!isLeaseholdError(error, "CONFIGURATION")) throw error;
    throw new ConfigurationError(`member ${name} in the quorum's file ${file}: ${error.message}`, { cause: error });
  }
}
