/** The packets and the file that earlier versions have left behind; `record-packets.ts` records those of today's version. */
import { cp, rm } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import type { VoterReply } from "../src/messages.ts";
import { packetOf, replyOf, Seal, type Packet } from "../src/packet.ts";
import { StateFile } from "../src/state-file.ts";
import { decodeStoredState } from "../src/voter-state-codec.ts";
import { Door } from "./door.ts";
import {
  NAMES,
  presentVersion,
  recordedDirectory,
  recordedExchanges,
  recordedVersions,
  RECEIVER,
  SECRET,
} from "./recorded-packets.ts";

const versions = await recordedVersions();
const kindsOf = (contents: ReadonlyArray<{ readonly kind: string } | null | undefined>) => contents.map((each) => each?.kind);
const parse = (body: Buffer) => JSON.parse(body.toString()) as Packet<object>;

test("this version has recorded packets", async () => {
  expect(versions).toContain(await presentVersion());
});

describe.each(versions)("version %s", async (version) => {
  const exchanges = await recordedExchanges(version);
  const packets = exchanges.map(({ request }) => parse(request.body));

  /** A server of today with the start to which the packets were sent. Its peer has the start that sent them. */
  async function door(): Promise<Door> {
    const start = packets.find(({ toStart }) => toStart !== undefined)?.toStart ?? "";
    const { start: fromStart = "" } = packets.find(({ from }) => from === "b") ?? {};
    return await Door.open({ secret: SECRET, names: NAMES, start, from: "b", fromStart });
  }

  test("has requests of each kind, and each is answered by the same kind as then", async () => {
    const tested = await door();
    const kinds = new Set<string | undefined>();
    const answers: Array<VoterReply | null | undefined> = [];
    for (const { name, request, reply } of exchanges) {
      const answer = await tested.post(request.body, request.signature);
      expect(answer, name).toMatchObject({ status: 200, isSigned: true });
      const said = replyOf(answer.body);
      expect(said, name).not.toHaveProperty("refused");
      expect(kindsOf(said?.contents ?? []), name).toEqual(kindsOf(replyOf(reply.body)?.contents ?? []));
      for (const kind of kindsOf(packetOf(request.body)?.contents ?? [])) kinds.add(kind);
      answers.push(...(said?.contents ?? []));
    }
    expect(kinds).toEqual(new Set(["ELECT", "LEAD", "RELEASE", "BREAK", "TRANSFER", "READ", "TELL", "PING"]));
    for (const kind of ["LEAD", "TRANSFER", "BREAK"])
      expect(answers).toContainEqual(expect.objectContaining({ kind, taken: true }));
    expect(answers).toContainEqual(expect.objectContaining({ kind: "VOTE", granted: true }));
  });

  test("has answers that this version reads as a whole", () => {
    const seal = new Seal(SECRET);
    for (const { name, reply } of exchanges) {
      expect(seal.isOurs(reply.body, reply.signature), name).toBe(true);
      const contents = replyOf(reply.body)?.contents;
      expect(contents, name).toEqual(parse(reply.body).contents);
    }
  });

  test("has a file that this version reads", async () => {
    const folder = await memoryFolder("leasehold-recorded-");
    onTestFinished(() => rm(folder, { recursive: true }));
    await cp(recordedDirectory(version), folder, { recursive: true });
    const told: string[] = [];
    const state = await new StateFile(folder, (message) => void told.push(message)).load();
    expect([told, state?.roster.server]).toEqual([[], RECEIVER]);
    expect(Object.keys(decodeStoredState(state?.text)?.elections ?? {}).toSorted()).toEqual(["nightly", "weekly"]);
  });

  test("may get fields and kinds of a later one: it ignores these fields, and drops messages of these kinds only", async () => {
    const tested = await door();
    for (const { name, request, reply } of exchanges) {
      const packet = parse(request.body);
      const later = packet.contents.map((content) => ({ ...content, news: { of: "later" } }));
      const contents = [{ kind: "NEWS", election: "nightly" }, ...later];
      const answer = await tested.post(JSON.stringify({ ...packet, news: 1, id: packet.id + 500, contents }));
      const kinds = kindsOf(replyOf(answer.body)?.contents ?? []);
      expect(kinds, name).toEqual([undefined, ...kindsOf(replyOf(reply.body)?.contents ?? [])]);
    }
  });
});
