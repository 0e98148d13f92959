// The requests of the page: those of the control API, passed on to the daemon of a mount.

/** A refusal, with its reason and remedy in words. */
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.remedy ? `${problem.why}; ${problem.remedy}` : problem.why);
    this.status = status;
    this.problem = problem;
  }
}

const ANSWER_TIMEOUT = 10_000;

/** Takes the token out of the URL, so that it is in no history; a reload finds it in the tab's session. */
function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return given || sessionStorage.getItem("token") || "";
}

let token = takeToken();

// The same tab is given the URL again, with another token.
addEventListener("hashchange", () => {
  token = takeToken();
});

async function send(path, { body, signal } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new Refusal(response.status, await problemOf(response));
  return response;
}

async function problemOf(response) {
  try {
    return (await response.json()).error;
  } catch {
    return { what: "ask", why: `the answer is ${response.status}` };
  }
}

/** Without those that are undefined. Not URLSearchParams: that makes a blank a plus. */
function query(parameters) {
  return Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** Calls `each` with the value of each line of an answer; returns the last. */
async function lines(path, options, each = () => {}) {
  const response = await send(path, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let last;
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (done ? "\n" : value)).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      if (!part) continue;
      last = JSON.parse(part);
      if (last.error) throw new Refusal(500, last.error);
      each(last);
    }
    if (done) return last;
  }
}

export async function mounts() {
  return (await send("/mounts")).json();
}

/** The API of one mount. */
export class Mount {
  constructor({ id, mountPoint }) {
    this.id = id;
    this.mountPoint = mountPoint;
    this.base = `/mounts/${id}`;
  }

  async status(limit) {
    // A daemon that hangs does not keep its mount from being asked again.
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT);
    return (await send(`${this.base}/v1/status?${query({ limit })}`, { signal })).json();
  }

  watch(limit, signal, each) {
    return lines(`${this.base}/v1/status/watch?${query({ limit })}`, { signal }, each);
  }

  /** Calls `each` with the changes after a cursor, or from now on; the first event has only a cursor. */
  changes(since, signal, each) {
    const parameters = since === undefined ? "" : `?${query({ since })}`;
    return lines(`${this.base}/v1/changes${parameters}`, { signal }, each);
  }

  async list(path, after, limit) {
    return (await send(`${this.base}/v1/list?${query({ path, after, limit })}`)).json();
  }

  async command(name, body) {
    return (await send(`${this.base}/v1/${name}`, { body })).json();
  }

  /** A command that reports its progress. */
  async progress(name, body, { signal, each } = {}) {
    const last = await lines(`${this.base}/v1/${name}`, { body, signal }, each);
    if (!last?.done) throw new Error("The mount has ended meanwhile.");
    return last;
  }

  /** A small picture or a text. */
  async preview(path) {
    return (await send(`${this.base}/preview?${query({ path })}`)).blob();
  }
}
