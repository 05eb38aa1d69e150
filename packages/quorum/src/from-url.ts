import { readFile } from "node:fs/promises";
import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import { disposable, type OpenedStore, type StoreSchemes } from "@leasehold/core/provider";
import { twinsIn, type QuorumMember } from "./options.ts";
import { QuorumLeaseStore } from "./quorum-lease-store.ts";

/** A store that is to be a member. The quorum itself checks that the store can keep records for it. */
type OpenedMember = QuorumMember & OpenedStore;

const LOOKS = 'it is an object of JSON, {"aws": "dynamodb://leases?region=eu-west-1", "gcp": "firestore://PROJECT/leases", …}';

/**
 * Opens a {@link QuorumLeaseStore} by a URL such as `quorum:///etc/leasehold/members.json`. The file lists the stores' URLs by
 * the members' names. In one URL, the stores' URLs would be encoded twice, and their passwords would be visible in the command's
 * arguments.
 */
export const fromUrl: StoreSchemes = {
  quorum: {
    parameters: [],
    check({ authority, path }) {
      if (authority === "" && path !== "") return;
      throw new ConfigurationError(
        "a URL of quorum: has three slashes and the absolute path of a file: quorum:///etc/leasehold/members.json.",
      );
    },
    async open({ file }, context) {
      const urls = await membersIn(file);
      const opened: Array<readonly [name: string, store: OpenedMember]> = [];
      const close = async (): Promise<void> => void (await Promise.all(opened.map(([, store]) => store[Symbol.asyncDispose]())));
      try {
        for (const [name, text] of Object.entries(urls)) {
          opened.push([name, (await ofMember(file, name, () => context.openStore(text))) as OpenedMember]);
        }
        return disposable(new QuorumLeaseStore({ members: Object.fromEntries(opened) }), close);
      } catch (error) {
        await close();
        throw error;
      }
    },
  },
};

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
  const twins = twinsIn(Object.entries(urls))?.join(" and ");
  if (twins === undefined) return urls as Record<string, string>;
  throw new ConfigurationError(`in the quorum's file ${file}, ${twins} are the same store, which would fail together.`);
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
