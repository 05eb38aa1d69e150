import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { makeCertificates } from "../backends/certificates.ts";
import { enableAuth, etcdctl, etcdMissing, startEtcd, startEtcdCluster } from "../backends/etcd.ts";
import { memoryFolder } from "../backends/memory-folder.ts";
import { isMissing } from "../backends/missing-backend.ts";

describe.skipIf(await isMissing(etcdMissing()))("etcd", () => {
  test("keeps its data when it is killed and started again, and can start with those of a snapshot", async () => {
    await using etcd = await startEtcd();
    const { pid, url } = etcd;
    await etcdctl(etcd, ["put", "key", "old"]);
    const snapshot = join(await folder(), "snapshot");
    await etcdctl(etcd, ["snapshot", "save", snapshot]);
    await etcdctl(etcd, ["put", "key", "new"]);

    await etcd.kill();
    await etcd.restart();

    expect(etcd.pid).not.toBe(pid);
    await expect(etcdctl(etcd, ["get", "key"])).resolves.toBe("key\nnew\n");
    await etcd.stop();
    await using restored = await startEtcd({ snapshot, port: etcd.port });
    expect(restored.url).toBe(url);
    await expect(etcdctl(restored, ["get", "key"])).resolves.toBe("key\nold\n");
  });

  test("works with two of three members", async () => {
    const [first, second, third] = await startEtcdCluster();
    await using members = new AsyncDisposableStack();
    for (const member of [first, second, third]) members.use(member);
    await etcdctl(first, ["put", "key", "value"]);

    await first.kill();

    await expect(etcdctl(second, ["get", "key"])).resolves.toBe("key\nvalue\n");
    await third.kill();
    await expect(etcdctl(second, ["get", "key", "--command-timeout=500ms"])).rejects.toThrow("context deadline exceeded");
    await third.restart();
    await expect(etcdctl(second, ["get", "key"])).resolves.toBe("key\nvalue\n");
  });

  test("requires certificates and passwords", async () => {
    const certificates = await makeCertificates(await folder());
    await using etcd = await startEtcd({ certificates });
    const worker = { user: "worker", password: "secret" };
    await enableAuth(etcd, worker, ["elections/"]);
    expect(etcd.url).toMatch(/^https:/);
    await etcdctl(etcd, ["put", "elections/one", "value"], worker);
    await expect(etcdctl(etcd, ["put", "elsewhere", "value"], worker)).rejects.toThrow("permission denied");
    const stranger = { ...etcd, ctlFlags: [`--endpoints=${etcd.url}`, `--cacert=${certificates.ca}`] };
    await expect(etcdctl(stranger, ["get", "elections/one", "--command-timeout=500ms"], worker)).rejects.toThrow(
      "context deadline exceeded",
    );
  });
});

async function folder(): Promise<string> {
  const made = await memoryFolder("leasehold-etcd-test-");
  onTestFinished(async () => rm(made, { recursive: true, force: true }));
  return made;
}
