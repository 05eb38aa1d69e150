import { GlideClient } from "@valkey/valkey-glide";
import { runOnRedis } from "./run-on-redis.ts";

const client = async (port: number): Promise<GlideClient> =>
  await GlideClient.createClient({ addresses: [{ host: "127.0.0.1", port }] });

await runOnRedis("glide", client, true, { lacks: { watch: "the store subscribes to nothing on a user's own client" } });
