import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "@prisma/client";
import { lead, store, url } from "../src/lead.ts";

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });

await lead(
  async (leadership) => {
    const { text, values } = store.fenceSql(leadership);
    await prisma.$transaction([
      prisma.$executeRawUnsafe(text, ...values),
      prisma.bills.create({ data: { term: leadership.term } }),
    ]);
  },
  () => prisma.$disconnect(),
);
