/**
 * What the kernel knows about the processes of one server (Linux, /proc). A server is a process group: the
 * Node process that started it, and workerd.
 *
 * CPU is run time in nanoseconds from /proc/PID/task/TID/schedstat, kernel time included, summed over
 * threads. A thread that ended between two readings took its figure along; the process's own counter (clock
 * ticks of 10 ms, threads that ended included) stands in for that process then.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const TICK_NS = 10_000_000;

/** Ids of the live processes in the group, in no order. */
export function listGroup(groupId) {
  const members = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = readStat(entry);
    if (stat !== null && stat.groupId === groupId && stat.state !== "Z") members.push(Number(entry));
  }
  return members;
}

/** A reading to hand to `diffCpu`: a map from process id to its name, its threads and its clock ticks. */
export function readCpu(groupId) {
  const reading = new Map();
  for (const pid of listGroup(groupId)) {
    const stat = readStat(pid);
    if (stat !== null) reading.set(pid, { name: stat.name, ticks: stat.ticks, threads: readThreads(pid) });
  }
  return reading;
}

/** Nanoseconds of CPU between two readings: in all, and those of workerd alone. */
export function diffCpu(before, after) {
  let total = 0;
  let workerd = 0;
  for (const [pid, now] of after) {
    const then = before.get(pid) ?? { ticks: 0, threads: new Map() };
    const spent = diffProcess(then, now);
    total += spent;
    if (now.name === "workerd") workerd += spent;
  }
  return { total, workerd };
}

function diffProcess(then, now) {
  for (const thread of then.threads.keys()) {
    if (!now.threads.has(thread)) return (now.ticks - then.ticks) * TICK_NS;
  }
  let spent = 0;
  for (const [thread, ns] of now.threads) spent += ns - (then.threads.get(thread) ?? 0);
  return spent;
}

/** Bytes resident now and at most since `resetPeak`, summed over the group. */
export function readMemory(groupId) {
  const memory = { now: 0, peak: 0 };
  for (const pid of listGroup(groupId)) {
    const status = readText(`/proc/${pid}/status`);
    memory.now += 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    memory.peak += 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }
  return memory;
}

export function resetPeak(groupId) {
  for (const pid of listGroup(groupId)) writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function readThreads(pid) {
  const threads = new Map();
  for (const thread of listDirectory(`/proc/${pid}/task`)) {
    const text = readText(`/proc/${pid}/task/${thread}/schedstat`);
    if (text !== "") threads.set(thread, Number(text.split(" ")[0]));
  }
  return threads;
}

/** The command's name may hold spaces and brackets, so the fields are counted from the last bracket. */
function readStat(pid) {
  const text = readText(`/proc/${pid}/stat`);
  if (text === "") return null;
  const end = text.lastIndexOf(")");
  const name = text.slice(text.indexOf("(") + 1, end);
  const fields = text.slice(end + 2).split(" ");
  return {
    name,
    state: fields[0],
    groupId: Number(fields[2]),
    ticks: Number(fields[11]) + Number(fields[12]),
  };
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function listDirectory(path) {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
