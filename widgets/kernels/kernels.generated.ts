// Written by generate.py from placelab/kernels; make build writes it anew.
// @ts-nocheck
function $max(a, b) { return b > a ? b : a; }
function $min(a, b) { return b < a ? b : a; }
function $mod(a, b) { const r = a % b; return r !== 0 && r < 0 !== b < 0 ? r + b : r; }
function $round(x) { const f = Math.floor(x), r = x - f; return r < 0.5 ? f : r > 0.5 ? f + 1 : f % 2 === 0 ? f : f + 1; }
const word = new DataView(new ArrayBuffer(8));
function $next_after(x, y) { if (x !== x || y !== y) return NaN; if (x === y) return y;
  if (x === 0) return y > 0 ? 5e-324 : -5e-324;
  word.setFloat64(0, x); word.setBigInt64(0, word.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n)); return word.getFloat64(0); }
function $key(high, low) { if (high >= 2 ** 21) throw new RangeError(`${high} does not fit into a key`); return high * 2 ** 32 + low; }
function block_sum(values, low, n) {
  let a, b, c, d, e, f, g, h, i, rest, total;
  if ((n < 8)) {
    total = 0.0;
    for (let i_1 = low, end_1 = (low + n); i_1 < end_1; i_1 += 1) {
      i = i_1;
      total = (total + values[i]);
    }
    return total;
  }
  a = values[low];
  b = values[(low + 1)];
  c = values[(low + 2)];
  d = values[(low + 3)];
  e = values[(low + 4)];
  f = values[(low + 5)];
  g = values[(low + 6)];
  h = values[(low + 7)];
  rest = ((low + n) - $mod(n, 8));
  for (let i_2 = (low + 8), end_2 = rest; i_2 < end_2; i_2 += 8) {
    i = i_2;
    a = (a + values[i]);
    b = (b + values[(i + 1)]);
    c = (c + values[(i + 2)]);
    d = (d + values[(i + 3)]);
    e = (e + values[(i + 4)]);
    f = (f + values[(i + 5)]);
    g = (g + values[(i + 6)]);
    h = (h + values[(i + 7)]);
  }
  total = (((a + b) + (c + d)) + ((e + f) + (g + h)));
  for (let i_3 = rest, end_3 = (low + n); i_3 < end_3; i_3 += 1) {
    i = i_3;
    total = (total + values[i]);
  }
  return total;
}

function pairwise_sum(values, low, n, stack) {
  let at, depth, half, size, total;
  depth = 0;
  at = low;
  size = n;
  while (true) {
    while ((size > 128)) {
      half = Math.floor(size / 2);
      half = (half - $mod(half, 8));
      stack[depth] = (size - half);
      stack[(depth + 1)] = 0.0;
      depth = (depth + 3);
      size = half;
    }
    total = block_sum(values, at, size);
    at = (at + size);
    while (((depth > 0) && (stack[(depth - 2)] !== 0.0))) {
      depth = (depth - 3);
      total = (stack[(depth + 2)] + total);
    }
    if ((depth === 0)) {
      return total;
    }
    stack[(depth - 2)] = 1.0;
    stack[(depth - 1)] = total;
    size = Math.trunc(stack[(depth - 3)]);
  }
}

function sum_of(values, stack) {
  return pairwise_sum(values, 0, values.length, stack);
}

function row_means(table, columns, stack, mean) {
  let v;
  for (let v_1 = 0, end_1 = mean.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    mean[v] = (pairwise_sum(table, (v * columns), columns, stack) / columns);
  }
}

function mean_times(times, row, stack, mean) {
  let c, columns, d, k, share, v;
  k = times.divisor.length;
  columns = times.columns;
  if ((columns === 1)) {
    for (let d_1 = 0, end_1 = k; d_1 < end_1; d_1 += 1) {
      d = d_1;
      row[d] = (1.0 / times.divisor[d]);
    }
    share = (pairwise_sum(row, 0, k, stack) / k);
    for (let v_2 = 0, end_2 = mean.length; v_2 < end_2; v_2 += 1) {
      v = v_2;
      mean[v] = (times.cost[v] * share);
    }
    return;
  }
  for (let c_3 = 0, end_3 = columns; c_3 < end_3; c_3 += 1) {
    c = c_3;
    row[(k + c)] = 0.0;
  }
  for (let d_4 = 0, end_4 = k; d_4 < end_4; d_4 += 1) {
    d = d_4;
    row[(k + times.column[d])] = (row[(k + times.column[d])] + (1.0 / times.divisor[d]));
  }
  for (let v_5 = 0, end_5 = mean.length; v_5 < end_5; v_5 += 1) {
    v = v_5;
    for (let c_6 = 0, end_6 = columns; c_6 < end_6; c_6 += 1) {
      c = c_6;
      row[c] = (times.cost[((v * columns) + c)] * row[(k + c)]);
    }
    mean[v] = (pairwise_sum(row, 0, columns, stack) / k);
  }
}

function mean_transfer(latency, bandwidth, devices, inverse, stack) {
  let first, i, pairs, second;
  for (let i_1 = 0, end_1 = bandwidth.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    inverse[i] = (1.0 / bandwidth[i]);
  }
  pairs = $max((devices * (devices - 1)), 1);
  first = (pairwise_sum(latency, 0, latency.length, stack) / pairs);
  second = (pairwise_sum(inverse, 0, inverse.length, stack) / pairs);
  return [first, second];
}

function total_times(times, own, stack, total) {
  let d, v;
  for (let d_1 = 0, end_1 = total.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    for (let v_2 = 0, end_2 = own.length; v_2 < end_2; v_2 += 1) {
      v = v_2;
      own[v] = times.cost[((v * times.columns) + times.column[d])];
    }
    total[d] = (pairwise_sum(own, 0, own.length, stack) / times.divisor[d]);
  }
}

function exec_time(v, d, times) {
  return (times.cost[((v * times.columns) + times.column[d])] / times.divisor[d]);
}

function durations(device, times, duration) {
  let v;
  for (let v_1 = 0, end_1 = device.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    duration[v] = exec_time(v, device[v], times);
  }
}

function delays(latency, send, delay) {
  let i, j, k, sent;
  k = send.length;
  for (let i_1 = 0, end_1 = k; i_1 < end_1; i_1 += 1) {
    i = i_1;
    for (let j_2 = 0, end_2 = k; j_2 < end_2; j_2 += 1) {
      j = j_2;
      sent = ((i !== j) ? send[i] : 0.0);
      delay[((i * k) + j)] = (sent + latency[((i * k) + j)]);
    }
  }
}

function speed_ups(speed, column, known, factor) {
  let d, j;
  for (let d_1 = 0, end_1 = speed.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    j = column[d];
    factor[d] = (((j >= 0) && (known[j] === known[j])) ? (speed[d] / known[j]) : 1.0);
  }
}

function add_by(key, values, total) {
  let i;
  for (let i_1 = 0, end_1 = key.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    total[key[i]] = (total[key[i]] + values[i]);
  }
}

function decade(x, near, powers) {
  let high, low, middle;
  low = 0;
  high = (powers.length - 1);
  while ((low < high)) {
    middle = Math.floor(((low + high) + 1) / 2);
    if ((powers[middle] <= (x * (1.0 + near)))) {
      low = middle;
    } else {
      high = (middle - 1);
    }
  }
  return (low - 323);
}

function ten_to(power, powers) {
  let i;
  i = (323 + power);
  return ((i < powers.length) ? powers[i] : powers[(powers.length - 1)]);
}

function shifted(x, power, down) {
  return (down ? (x / power) : (x * power));
}

function common_divisor(values, parts, power, down, rounding) {
  let common, i, other, rest, whole, x;
  common = 0;
  for (let i_1 = 0, end_1 = values.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    if (!((-Infinity) < values[i] && values[i] < Infinity)) {
      continue;
    }
    x = shifted((values[i] * parts), power, down);
    whole = Number($round(x));
    if ((Math.abs((x - whole)) > (rounding * x))) {
      return (-1);
    }
    other = Math.trunc(whole);
    while ((common !== 0)) {
      rest = $mod(other, common);
      other = common;
      common = rest;
    }
    common = other;
  }
  return common;
}

function decimal_places(values, parts, digits, rounding, near, powers) {
  let common, finest, i, largest, leading, q, zeros;
  largest = 0.0;
  for (let i_1 = 0, end_1 = values.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    if ((largest < values[i] && values[i] < Infinity)) {
      largest = values[i];
    }
  }
  if ((largest === 0.0)) {
    return [(-Infinity), 1];
  }
  leading = (0 - decade(largest, near, powers));
  if ((Math.abs(leading) < 290)) {
    finest = (leading + digits);
    for (let q_2 = 1, end_2 = (parts + 1); q_2 < end_2; q_2 += 1) {
      q = q_2;
      common = common_divisor(values, q, ten_to(Math.abs(finest), powers), (finest < 0), rounding);
      if ((common >= 0)) {
        zeros = 0;
        while (((common > 0) && ($mod(common, 10) === 0))) {
          common = Math.floor(common / 10);
          zeros = (zeros + 1);
        }
        return [Number((finest - zeros)), q];
      }
    }
  }
  return [Number(leading), 0];
}

function longest_time(compute, sends, tensor_bytes, latency, time, speed, bandwidth, shared) {
  let d, i, longest, narrowest, slowest, t, took, v;
  slowest = Infinity;
  for (let d_1 = 0, end_1 = speed.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    slowest = $min(slowest, speed[d]);
  }
  narrowest = Infinity;
  for (let i_2 = 0, end_2 = bandwidth.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    narrowest = $min(narrowest, bandwidth[i]);
  }
  for (let i_3 = 0, end_3 = shared.length; i_3 < end_3; i_3 += 1) {
    i = i_3;
    narrowest = $min(narrowest, shared[i]);
  }
  longest = (sends / slowest);
  for (let v_4 = 0, end_4 = compute.length; v_4 < end_4; v_4 += 1) {
    v = v_4;
    took = (compute[v] / slowest);
    if ((longest < took && took < Infinity)) {
      longest = took;
    }
  }
  for (let t_5 = 0, end_5 = tensor_bytes.length; t_5 < end_5; t_5 += 1) {
    t = t_5;
    took = (tensor_bytes[t] / narrowest);
    if ((longest < took && took < Infinity)) {
      longest = took;
    }
  }
  for (let i_6 = 0, end_6 = latency.length; i_6 < end_6; i_6 += 1) {
    i = i_6;
    if ((longest < latency[i] && latency[i] < Infinity)) {
      longest = latency[i];
    }
  }
  for (let i_7 = 0, end_7 = time.length; i_7 < end_7; i_7 += 1) {
    i = i_7;
    if ((longest < time[i] && time[i] < Infinity)) {
      longest = time[i];
    }
  }
  return ((longest > 0.0) ? longest : 1.0);
}

function decimal_unit(work, sent, seconds, speed, rate, sized, longest, digits, near, powers) {
  let carried, in_unit, nan, ops, sizes, unit;
  nan = (Infinity - Infinity);
  carried = ((rate > (-Infinity)) ? (sent - rate) : (-Infinity));
  unit = $max($max((work - speed), carried), seconds);
  ops = $max(work, (unit + speed));
  sizes = ((sized && (carried > (-Infinity))) ? $max(sent, (unit + rate)) : 0.0);
  if ((((unit === 0.0) && (ops === 0.0) && (sizes === 0.0)) || (Math.abs(unit) > 290))) {
    return [nan, nan, nan];
  }
  in_unit = shifted(longest, ten_to(Math.trunc(Math.abs(unit)), powers), (unit < 0.0));
  if ((in_unit > (ten_to(digits, powers) * (1.0 + near)))) {
    return [nan, nan, nan];
  }
  return [unit, ops, sizes];
}

function whole_again(values, parts, power, down, second, up, result) {
  let i, x;
  for (let i_1 = 0, end_1 = values.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    x = values[i];
    if (((-Infinity) < x && x < Infinity)) {
      x = (shifted(Number($round(shifted((x * parts), power, down))), second, !(up)) / parts);
    }
    result[i] = x;
  }
}

function to_steps(rank, n, largest, scale, border, steps, near, exact) {
  let count, rest, v, whole, x;
  count = 0;
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    x = ((rank[v] / largest) * scale);
    whole = Number($round(x));
    rest = (x - whole);
    if (((rest > (0.5 - border)) || (rest < (border - 0.5)))) {
      near[count] = v;
      exact[count] = (whole + rest);
      count = (count + 1);
    }
    steps[v] = whole;
  }
  return count;
}

function push_entry(heap, base, size, time, code) {
  let i, j, parent, t;
  i = size;
  while ((i > 0)) {
    parent = ((i - 1) >> 1);
    j = (2 * (base + parent));
    t = heap[j];
    if (((t < time) || ((t === time) && (heap[(j + 1)] < code)))) {
      break;
    }
    heap[(2 * (base + i))] = t;
    heap[((2 * (base + i)) + 1)] = heap[(j + 1)];
    i = parent;
  }
  heap[(2 * (base + i))] = time;
  heap[((2 * (base + i)) + 1)] = code;
}

function push_event(heap, size, time, code) {
  push_entry(heap, 0, size, time, code);
  return (size + 1);
}

function pop_entry(heap, base, size) {
  let child, code, i, last, left, parent, right, start, t, time;
  start = (2 * base);
  last = (start + (2 * (size - 1)));
  time = heap[last];
  code = heap[(last + 1)];
  i = start;
  child = (start + 2);
  while (((child + 2) <= last)) {
    left = heap[child];
    right = heap[(child + 2)];
    if ((left === right)) {
      child = (child + (2 * (heap[(child + 3)] < heap[(child + 1)])));
    } else {
      child = (child + (2 * (right < left)));
    }
    heap[i] = heap[child];
    heap[(i + 1)] = heap[(child + 1)];
    i = child;
    child = (((2 * (i - start)) + 2) + start);
  }
  while ((i > start)) {
    parent = (((((i - start) - 2) >> 2) * 2) + start);
    t = heap[parent];
    if (((t < time) || ((t === time) && (heap[(parent + 1)] < code)))) {
      break;
    }
    heap[i] = t;
    heap[(i + 1)] = heap[(parent + 1)];
    i = parent;
  }
  heap[i] = time;
  heap[(i + 1)] = code;
}

function pop_event(heap, size) {
  pop_entry(heap, 0, size);
  return (size - 1);
}

function join(near, exact, rising, count, same, steps) {
  let before, i, j, lowest;
  before = (-1.0);
  lowest = 0.0;
  for (let j_1 = 0, end_1 = count; j_1 < end_1; j_1 += 1) {
    j = j_1;
    i = rising[j];
    if (((exact[i] - before) > same)) {
      lowest = steps[near[i]];
    }
    before = exact[i];
    steps[near[i]] = lowest;
  }
}

function compared_as(rank, n, largest, scale, border, same, steps, near, exact, heap, rising) {
  let count, i, size, v;
  if (!(largest > 0.0)) {
    for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
      v = v_1;
      steps[v] = 0.0;
    }
    return;
  }
  count = to_steps(rank, n, largest, scale, border, steps, near, exact);
  size = 0;
  for (let i_2 = 0, end_2 = count; i_2 < end_2; i_2 += 1) {
    i = i_2;
    size = push_event(heap, size, exact[i], Number(i));
  }
  for (let i_3 = 0, end_3 = count; i_3 < end_3; i_3 += 1) {
    i = i_3;
    rising[i] = Math.trunc(heap[1]);
    size = pop_event(heap, size);
  }
  join(near, exact, rising, count, same, steps);
}

function path_by_means(latency, per_byte, pred_ptr, succ, up, scale, border, same, way, steps, near, exact, heap, rising, path) {
  let best, count, first, i, largest, longest, most, n, u, v, w;
  n = 0;
  most = 0.0;
  for (let v_1 = 0, end_1 = up.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((pred_ptr[v] === pred_ptr[(v + 1)])) {
      near[n] = v;
      way[n] = up[v];
      most = ((up[v] > most) ? up[v] : most);
      n = (n + 1);
    }
  }
  for (let i_2 = 0, end_2 = n; i_2 < end_2; i_2 += 1) {
    i = i_2;
    path[i] = near[i];
  }
  compared_as(way, n, most, scale, border, same, steps, near, exact, heap, rising);
  best = 0;
  for (let i_3 = 1, end_3 = n; i_3 < end_3; i_3 += 1) {
    i = i_3;
    if ((steps[i] > steps[best])) {
      best = i;
    }
  }
  v = path[best];
  path[0] = v;
  count = 1;
  largest = 0.0;
  for (let u_4 = 0, end_4 = up.length; u_4 < end_4; u_4 += 1) {
    u = u_4;
    largest = ((up[u] > largest) ? up[u] : largest);
  }
  while ((succ.ptr[v] < succ.ptr[(v + 1)])) {
    first = succ.ptr[v];
    n = (succ.ptr[(v + 1)] - first);
    for (let i_6 = 0, end_6 = n; i_6 < end_6; i_6 += 1) {
      i = i_6;
      way[i] = ((latency + (succ.bytes[(first + i)] * per_byte)) + up[succ.consumer[(first + i)]]);
    }
    compared_as(way, n, largest, scale, border, same, steps, near, exact, heap, rising);
    longest = steps[0];
    v = succ.consumer[first];
    for (let i_7 = 1, end_7 = n; i_7 < end_7; i_7 += 1) {
      i = i_7;
      w = succ.consumer[(first + i)];
      if (((steps[i] > longest) || ((steps[i] === longest) && (w < v)))) {
        longest = steps[i];
        v = w;
      }
    }
    path[count] = v;
    count = (count + 1);
  }
  return count;
}

function may_run(v, d, eligible) {
  return (eligible.allowed[((v * eligible.stride) + d)] !== 0);
}

function device_of_path(path, times, eligible, total) {
  let best, d, i, may, most;
  best = 0;
  most = (-1);
  for (let d_1 = 0, end_1 = total.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    total[d] = 0.0;
    may = 0;
    for (let i_2 = 0, end_2 = path.length; i_2 < end_2; i_2 += 1) {
      i = i_2;
      if (may_run(path[i], d, eligible)) {
        total[d] = (total[d] + exec_time(path[i], d, times));
        may = (may + 1);
      }
    }
    if (((may > most) || ((may === most) && (total[d] < total[best])))) {
      most = may;
      best = d;
    }
  }
  return best;
}

function memory_waits(device, start, finish, producer, succ, network, there, planned, last, possible, waits) {
  let before, came, d, e, i, k, link, u, v, waited;
  k = network.send.length;
  for (let v_1 = 0, end_1 = device.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    possible[v] = 0.0;
  }
  for (let e_2 = 0, end_2 = producer.length; e_2 < end_2; e_2 += 1) {
    e = e_2;
    u = producer[e];
    v = succ.consumer[e];
    link = ((device[u] * k) + device[v]);
    came = ((finish[u] + network.delay[link]) + (succ.bytes[e] / network.bandwidth[link]));
    if (((there.length > 0) && (device[u] !== device[v]))) {
      came = there[((succ.tensor[e] * k) + device[v])];
    }
    if ((came > possible[v])) {
      possible[v] = came;
    }
  }
  for (let d_3 = 0, end_3 = k; d_3 < end_3; d_3 += 1) {
    d = d_3;
    last[d] = (-1);
  }
  for (let i_4 = 0, end_4 = planned.length; i_4 < end_4; i_4 += 1) {
    i = i_4;
    v = planned[i];
    before = last[device[v]];
    if (((before >= 0) && (finish[before] > possible[v]))) {
      possible[v] = finish[before];
    }
    last[device[v]] = v;
  }
  waited = false;
  for (let v_5 = 0, end_5 = device.length; v_5 < end_5; v_5 += 1) {
    v = v_5;
    waits[v] = 0.0;
    if ((start[v] > possible[v])) {
      waits[v] = start[v];
      waited = true;
    }
  }
  return waited;
}

function queue_bases(queue, base) {
  let i, q;
  for (let q_1 = 0, end_1 = base.length; q_1 < end_1; q_1 += 1) {
    q = q_1;
    base[q] = 0;
  }
  for (let i_2 = 0, end_2 = queue.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    base[(queue[i] + 1)] = (base[(queue[i] + 1)] + 1);
  }
  for (let q_3 = 1, end_3 = base.length; q_3 < end_3; q_3 += 1) {
    q = q_3;
    base[q] = (base[q] + base[(q - 1)]);
  }
}

function in_sequence(device, planned, at, op) {
  let i, v;
  for (let i_1 = 0, end_1 = planned.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    v = planned[i];
    op[at[device[v]]] = v;
    at[device[v]] = (at[device[v]] + 1);
  }
}

function upward(weight, succ, latency, per_byte, rank) {
  let e, longest, v, x;
  for (let v_1 = (weight.length - 1), end_1 = (-1); v_1 > end_1; v_1 += -1) {
    v = v_1;
    longest = 0.0;
    for (let e_2 = succ.ptr[v], end_2 = succ.ptr[(v + 1)]; e_2 < end_2; e_2 += 1) {
      e = e_2;
      x = ((latency + (succ.bytes[e] * per_byte)) + rank[succ.consumer[e]]);
      if ((x > longest)) {
        longest = x;
      }
    }
    rank[v] = (weight[v] + longest);
  }
}

function downward(weight, succ, latency, per_byte, rank) {
  let done, e, u, v, x;
  for (let v_1 = 0, end_1 = weight.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    rank[v] = 0.0;
  }
  for (let u_2 = 0, end_2 = weight.length; u_2 < end_2; u_2 += 1) {
    u = u_2;
    done = (rank[u] + weight[u]);
    for (let e_3 = succ.ptr[u], end_3 = succ.ptr[(u + 1)]; e_3 < end_3; e_3 += 1) {
      e = e_3;
      x = (done + (latency + (succ.bytes[e] * per_byte)));
      v = succ.consumer[e];
      if ((x > rank[v])) {
        rank[v] = x;
      }
    }
  }
}

function round_to_steps(rank, largest, scale, border, steps, near, exact) {
  return to_steps(rank, rank.length, largest, scale, border, steps, near, exact);
}

function join_across_borders(near, exact, rising, same, steps) {
  join(near, exact, rising, rising.length, same, steps);
}

function push_key(heap, base, size, key) {
  let i, k, parent;
  i = size;
  while ((i > 0)) {
    parent = ((i - 1) >> 1);
    k = heap[(base + parent)];
    if ((k < key)) {
      break;
    }
    heap[(base + i)] = k;
    i = parent;
  }
  heap[(base + i)] = key;
}

function pop_key(heap, base, size) {
  let child, i, k, key, last, parent;
  last = (size - 1);
  key = heap[(base + last)];
  i = 0;
  child = 1;
  while (((child + 1) <= last)) {
    child = (child + (heap[((base + child) + 1)] < heap[(base + child)]));
    heap[(base + i)] = heap[(base + child)];
    i = child;
    child = ((2 * i) + 1);
  }
  while ((i > 0)) {
    parent = ((i - 1) >> 1);
    k = heap[(base + parent)];
    if ((k < key)) {
      break;
    }
    heap[(base + i)] = k;
    i = parent;
  }
  heap[(base + i)] = key;
}

function precedence_order(place, item, succ, missing, heap, order) {
  let e, i, n, size, v, w;
  n = place.length;
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    missing[v] = 0;
  }
  for (let e_2 = 0, end_2 = succ.consumer.length; e_2 < end_2; e_2 += 1) {
    e = e_2;
    missing[succ.consumer[e]] = (missing[succ.consumer[e]] + 1);
  }
  size = 0;
  for (let v_3 = 0, end_3 = n; v_3 < end_3; v_3 += 1) {
    v = v_3;
    if ((missing[v] === 0)) {
      push_key(heap, 0, size, place[v]);
      size = (size + 1);
    }
  }
  i = 0;
  while ((size > 0)) {
    v = item[heap[0]];
    pop_key(heap, 0, size);
    size = (size - 1);
    order[i] = v;
    i = (i + 1);
    for (let e_5 = succ.ptr[v], end_5 = succ.ptr[(v + 1)]; e_5 < end_5; e_5 += 1) {
      e = e_5;
      w = succ.consumer[e];
      missing[w] = (missing[w] - 1);
      if ((missing[w] === 0)) {
        push_key(heap, 0, size, place[w]);
        size = (size + 1);
      }
    }
  }
}

function clear_groups(eligible) {
  let g;
  for (let g_1 = 0, end_1 = eligible.group_device.length; g_1 < end_1; g_1 += 1) {
    g = g_1;
    eligible.group_device[g] = (-1);
  }
}

function clear_busy(busy) {
  let d;
  for (let d_1 = 0, end_1 = busy.count.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    busy.count[d] = 0;
    busy.n_done[d] = 0;
    busy.ends[(d * busy.row)] = 0.0;
  }
}

function group_home(v, eligible) {
  let g;
  g = eligible.group[v];
  return ((g >= 0) ? eligible.group_device[g] : (-1));
}

function arrivals(v, low, high, pred, network, plan, arrival) {
  let d, done, e, i, k, row, size, u, x;
  k = arrival.length;
  for (let d_1 = low, end_1 = high; d_1 < end_1; d_1 += 1) {
    d = d_1;
    arrival[d] = 0.0;
  }
  for (let i_2 = pred.ptr[v], end_2 = pred.ptr[(v + 1)]; i_2 < end_2; i_2 += 1) {
    i = i_2;
    e = pred.edge[i];
    u = pred.producer[e];
    done = plan.finish[u];
    size = pred.bytes[e];
    row = (plan.device[u] * k);
    for (let d_3 = low, end_3 = high; d_3 < end_3; d_3 += 1) {
      d = d_3;
      x = ((done + network.delay[(row + d)]) + (size / network.bandwidth[(row + d)]));
      arrival[d] = ((x > arrival[d]) ? x : arrival[d]);
    }
  }
}

function first_after(ends, base, count, time) {
  let high, low, middle;
  low = 0;
  high = count;
  while ((low < high)) {
    middle = ((low + high) >> 1);
    if ((ends[(base + middle)] > time)) {
      high = middle;
    } else {
      low = (middle + 1);
    }
  }
  return low;
}

function gap(d, busy, time, length, worst) {
  let base, begins, count, ends, i, last;
  base = (d * busy.row);
  count = busy.count[d];
  begins = busy.begins;
  ends = busy.ends;
  i = first_after(ends, base, count, time);
  if ((length === 0.0)) {
    if (((i === count) || (begins[(base + i)] >= time))) {
      return time;
    }
    i = first_after(busy.done, base, busy.n_done[d], time);
    if (((i > 0) && (busy.done[((base + i) - 1)] === time))) {
      return time;
    }
    return busy.done[(base + i)];
  }
  while (((i < count) && ((time + length) > begins[(base + i)]))) {
    if ((ends[(base + i)] > time)) {
      time = ends[(base + i)];
    }
    if (((time + length) >= worst)) {
      break;
    }
    i = (i + 1);
    if (($mod(i, 64) === 0)) {
      last = (((base + i) + 64) - 1);
      while ((((i + 64) <= count) && (length > (busy.widest[Math.floor(last / 64)] + (1e-15 * ends[last]))))) {
        i = (i + 64);
        time = ends[last];
        if (((time + length) >= worst)) {
          return time;
        }
        last = (last + 64);
      }
    }
  }
  return time;
}

function aimed(aim, i, start, length) {
  let x;
  x = (start + length);
  if ((aim.rule === 1)) {
    x = start;
  } else {
    if ((aim.rule === 2)) {
      x = length;
    }
  }
  if ((aim.extra.length > 0)) {
    x = (x + aim.extra[i]);
  }
  return x;
}

function fix_group(v, d, eligible) {
  let g;
  g = eligible.group[v];
  if ((g >= 0)) {
    eligible.group_device[g] = d;
  }
}

function measure(base, low, count, busy) {
  let b, i, length, most;
  for (let b_1 = Math.floor(low / 64), end_1 = Math.floor(((count + 64) - 1) / 64); b_1 < end_1; b_1 += 1) {
    b = b_1;
    most = 0.0;
    for (let i_2 = (b * 64), end_2 = $min(((b + 1) * 64), count); i_2 < end_2; i_2 += 1) {
      i = i_2;
      length = (busy.begins[(base + i)] - ((i > 0) ? busy.ends[((base + i) - 1)] : 0.0));
      if ((length > most)) {
        most = length;
      }
    }
    busy.widest[(Math.floor(base / 64) + b)] = most;
  }
}

function remove_span(base, i, count, busy) {
  let begins, ends, j;
  begins = busy.begins;
  ends = busy.ends;
  ends[((base + i) - 1)] = ends[(base + i)];
  for (let j_1 = (base + i), end_1 = ((base + count) - 1); j_1 < end_1; j_1 += 1) {
    j = j_1;
    begins[j] = begins[(j + 1)];
    ends[j] = ends[(j + 1)];
  }
  measure(base, i, (count - 1), busy);
}

function add_span(base, i, count, start, finish, busy) {
  let begins, ends, j, length;
  begins = busy.begins;
  ends = busy.ends;
  for (let j_1 = (base + count), end_1 = (base + i); j_1 > end_1; j_1 += -1) {
    j = j_1;
    begins[j] = begins[(j - 1)];
    ends[j] = ends[(j - 1)];
  }
  begins[(base + i)] = start;
  ends[(base + i)] = finish;
  if (((i < count) || ($mod(i, 64) === 0))) {
    measure(base, i, (count + 1), busy);
    return;
  }
  length = (start - ends[((base + i) - 1)]);
  if ((length > busy.widest[Math.floor((base + i) / 64)])) {
    busy.widest[Math.floor((base + i) / 64)] = length;
  }
}

function occupy(d, busy, start, finish) {
  let base, count, i, left, right;
  base = (d * busy.row);
  count = busy.count[d];
  i = first_after(busy.ends, base, count, start);
  if (((i < count) && (busy.begins[(base + i)] < finish))) {
    return;
  }
  left = ((i > 0) && (busy.ends[((base + i) - 1)] === start));
  right = ((i < count) && (busy.begins[(base + i)] === finish));
  if ((left && right)) {
    remove_span(base, i, count, busy);
    busy.count[d] = (count - 1);
  } else {
    if ((left || right)) {
      if (left) {
        busy.ends[((base + i) - 1)] = finish;
      } else {
        busy.begins[(base + i)] = start;
      }
      if ((i < count)) {
        measure(base, i, $min(count, ((Math.floor(i / 64) + 1) * 64)), busy);
      }
    } else {
      add_span(base, i, count, start, finish, busy);
      busy.count[d] = (count + 1);
    }
  }
}

function insert(values, base, count, value) {
  let i, j;
  i = (base + first_after(values, base, count, value));
  for (let j_1 = (base + count), end_1 = i; j_1 > end_1; j_1 += -1) {
    j = j_1;
    values[j] = values[(j - 1)];
  }
  values[i] = value;
  return (count + 1);
}

function run_on(d, insertion, busy, start, finish) {
  if (!(insertion)) {
    busy.ends[d] = finish;
    return;
  }
  occupy(d, busy, start, finish);
  if (((busy.done.length === busy.ends.length) && (finish > start))) {
    busy.n_done[d] = insert(busy.done, (d * busy.row), busy.n_done[d], finish);
  }
}

function in_order(preferred, insertion, aim, pred, times, network, eligible, arrival, busy, plan) {
  let begin, best, d, f, high, i, k, least, length, low, n, only, plain, record, s, soonest, v, worst, x;
  n = plan.order.length;
  k = arrival.length;
  record = (plan.score.length === (n * k));
  plain = ((aim.rule === 0) && (aim.extra.length === 0));
  clear_groups(eligible);
  clear_busy(busy);
  for (let i_1 = 0, end_1 = n; i_1 < end_1; i_1 += 1) {
    i = i_1;
    v = plan.order[i];
    only = group_home(v, eligible);
    if ((only < 0)) {
      only = preferred[v];
    }
    low = 0;
    high = k;
    if ((only >= 0)) {
      low = only;
      high = (only + 1);
    }
    arrivals(v, low, high, pred, network, plan, arrival);
    best = (-1);
    least = 0.0;
    soonest = 0.0;
    begin = 0.0;
    for (let d_2 = low, end_2 = high; d_2 < end_2; d_2 += 1) {
      d = d_2;
      if (!(may_run(v, d, eligible))) {
        continue;
      }
      length = exec_time(v, d, times);
      s = arrival[d];
      worst = soonest;
      if (((best < 0) || record || !(plain))) {
        worst = 1.7e+308;
      }
      if (((s + length) >= worst)) {
        continue;
      }
      if (insertion) {
        s = gap(d, busy, s, length, worst);
      } else {
        if ((busy.ends[d] > s)) {
          s = busy.ends[d];
        }
      }
      f = (s + length);
      x = aimed(aim, ((v * k) + d), s, length);
      if (record) {
        plan.score[((v * k) + d)] = x;
      }
      if (((best < 0) || (x < least) || ((aim.rule === 1) && (x === least) && (f < soonest)))) {
        best = d;
        least = x;
        soonest = f;
        begin = s;
      }
    }
    plan.device[v] = best;
    plan.start[v] = begin;
    plan.finish[v] = soonest;
    fix_group(v, best, eligible);
    run_on(best, insertion, busy, begin, soonest);
  }
}

function clear_devices(eligible, free) {
  let d;
  clear_groups(eligible);
  for (let d_1 = 0, end_1 = free.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    free[d] = 0.0;
  }
}

function as_ready(pred, succ, times, network, eligible, frontier, agenda, plan) {
  let begin, best, d, e, f, high, i, k, low, n, only, record, s, size, soonest, v, w;
  n = plan.device.length;
  k = frontier.free.length;
  record = (plan.score.length === (n * k));
  clear_devices(eligible, frontier.free);
  size = 0;
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    agenda.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
    agenda.became[v] = 0.0;
    if ((agenda.missing[v] === 0)) {
      size = push_event(agenda.heap, size, 0.0, Number(v));
    }
  }
  i = 0;
  while ((size > 0)) {
    v = Math.trunc(agenda.heap[1]);
    size = pop_event(agenda.heap, size);
    only = group_home(v, eligible);
    low = 0;
    high = k;
    if ((only >= 0)) {
      low = only;
      high = (only + 1);
    }
    arrivals(v, low, high, pred, network, plan, frontier.arrival);
    best = (-1);
    soonest = 0.0;
    begin = 0.0;
    for (let d_3 = low, end_3 = high; d_3 < end_3; d_3 += 1) {
      d = d_3;
      if (!(may_run(v, d, eligible))) {
        continue;
      }
      s = frontier.arrival[d];
      if ((frontier.free[d] > s)) {
        s = frontier.free[d];
      }
      f = (s + exec_time(v, d, times));
      if (record) {
        plan.score[((v * k) + d)] = f;
      }
      if (((best < 0) || (f < soonest))) {
        best = d;
        soonest = f;
        begin = s;
      }
    }
    plan.order[i] = v;
    i = (i + 1);
    plan.device[v] = best;
    plan.start[v] = begin;
    plan.finish[v] = soonest;
    frontier.free[best] = soonest;
    fix_group(v, best, eligible);
    for (let e_4 = succ.ptr[v], end_4 = succ.ptr[(v + 1)]; e_4 < end_4; e_4 += 1) {
      e = e_4;
      w = succ.consumer[e];
      agenda.missing[w] = (agenda.missing[w] - 1);
      if ((soonest > agenda.became[w])) {
        agenda.became[w] = soonest;
      }
      if ((agenda.missing[w] === 0)) {
        size = push_event(agenda.heap, size, agenda.became[w], Number(w));
      }
    }
  }
}

function unlimited(limits) {
  return ((limits.memory.needs.model === 0) && (limits.ports.contention === 0));
}

function clear_ports(ports) {
  let i;
  for (let i_1 = 0, end_1 = ports.free.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    ports.free[i] = 0.0;
  }
  for (let i_2 = 0, end_2 = ports.sent.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    ports.sent[i] = (-1.0);
  }
}

function clear_memory(pred, needs, held, curve) {
  let d, e, i, t;
  for (let t_1 = 0, end_1 = held.waiting.length; t_1 < end_1; t_1 += 1) {
    t = t_1;
    held.waiting[t] = 0;
    held.kept[t] = 0.0;
  }
  for (let i_2 = 0, end_2 = held.copy_kept.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    held.copy_kept[i] = (-1.0);
  }
  if ((held.waiting.length > 0)) {
    for (let e_3 = 0, end_3 = pred.tensor.length; e_3 < end_3; e_3 += 1) {
      e = e_3;
      t = pred.tensor[e];
      held.waiting[t] = (held.waiting[t] + 1);
      if (((held.home.length > 0) && (needs.storage[t] !== t))) {
        held.waiting[needs.storage[t]] = (held.waiting[needs.storage[t]] + 1);
      }
    }
  }
  curve.top[0] = held.reserved.length;
  for (let d_4 = 0, end_4 = held.reserved.length; d_4 < end_4; d_4 += 1) {
    d = d_4;
    held.reserved[d] = 0.0;
    held.eased[d] = 0;
    curve.last[d] = d;
    curve.chain[(2 * d)] = (-1);
    curve.chain[((2 * d) + 1)] = 1;
    curve.highest[d] = 0.0;
    curve.at[(d * 128)] = 0.0;
    curve.level[(d * 128)] = 0.0;
    curve.block[(2 * d)] = 0.0;
    curve.block[((2 * d) + 1)] = 0.0;
  }
}

function push_now(v, d, queues) {
  push_key(queues.now, (d * queues.rank.length), queues.n_now[d], queues.rank[v]);
  queues.n_now[d] = (queues.n_now[d] + 1);
}

function queue_entries(pred, eligible, limits, frontier, queues, bounds, plan) {
  let d, k, memory, v;
  k = frontier.free.length;
  memory = limits.memory;
  clear_devices(eligible, frontier.free);
  for (let d_1 = 0, end_1 = k; d_1 < end_1; d_1 += 1) {
    d = d_1;
    queues.n_later[d] = 0;
    queues.n_now[d] = 0;
    bounds.waits[d] = 0;
    memory.held.eased[d] = 0;
  }
  clear_ports(limits.ports);
  if ((memory.needs.model !== 0)) {
    clear_memory(pred, memory.needs, memory.held, memory.curve);
  }
  for (let v_2 = 0, end_2 = plan.device.length; v_2 < end_2; v_2 += 1) {
    v = v_2;
    plan.device[v] = (-1);
    bounds.marked[v] = 0;
    queues.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
    if ((queues.missing[v] === 0)) {
      for (let d_3 = 0, end_3 = k; d_3 < end_3; d_3 += 1) {
        d = d_3;
        if (may_run(v, d, eligible)) {
          if ((bounds.ready_on.length > 0)) {
            bounds.ready_on[((v * k) + d)] = 0.0;
          }
          push_now(v, d, queues);
        }
      }
    }
  }
}

function gone(v, d, eligible, plan) {
  let home;
  if ((plan.device[v] >= 0)) {
    return true;
  }
  home = group_home(v, eligible);
  return ((home >= 0) && (home !== d));
}

function settle(d, everything, eligible, queues, bounds, plan) {
  let base, i, k, kept, r, time, v;
  base = (d * queues.rank.length);
  k = queues.n_later.length;
  kept = 0;
  for (let i_1 = 0, end_1 = queues.n_later[d]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    time = queues.later[(2 * (base + i))];
    r = Math.trunc(queues.later[((2 * (base + i)) + 1)]);
    v = queues.item[r];
    if (!(gone(v, d, eligible, plan))) {
      if ((everything || (bounds.marked[v] !== 0))) {
        time = bounds.ready_on[((v * k) + d)];
      }
      push_entry(queues.later, base, kept, time, Number(r));
      kept = (kept + 1);
    }
  }
  queues.n_later[d] = kept;
}

function settle_eased(d, held, eligible, queues, bounds, plan) {
  if ((held.eased[d] !== 0)) {
    held.eased[d] = 0;
    if ((bounds.waits[d] !== 0)) {
      bounds.waits[d] = 0;
      settle(d, true, eligible, queues, bounds, plan);
    }
  }
}

function pop_later(d, queues) {
  pop_entry(queues.later, (d * queues.rank.length), queues.n_later[d]);
  queues.n_later[d] = (queues.n_later[d] - 1);
}

function pop_now(d, queues) {
  pop_key(queues.now, (d * queues.rank.length), queues.n_now[d]);
  queues.n_now[d] = (queues.n_now[d] - 1);
}

function promote(d, free, eligible, queues, plan) {
  let base, out, v;
  base = (d * queues.rank.length);
  while ((queues.n_later[d] > 0)) {
    v = Math.trunc(queues.item[Math.trunc(queues.later[((2 * base) + 1)])]);
    out = gone(v, d, eligible, plan);
    if ((!(out) && (queues.later[(2 * base)] > free[d]))) {
      break;
    }
    pop_later(d, queues);
    if (!(out)) {
      push_now(v, d, queues);
    }
  }
  while (((queues.n_now[d] > 0) && gone(queues.item[queues.now[base]], d, eligible, plan))) {
    pop_now(d, queues);
  }
}

function first_ready(d, free, queues) {
  let n;
  n = queues.rank.length;
  if ((queues.n_now[d] > 0)) {
    return [free[d], Math.trunc(queues.now[(d * n)])];
  }
  if ((queues.n_later[d] > 0)) {
    return [queues.later[((2 * d) * n)], Math.trunc(queues.later[(((2 * d) * n) + 1)])];
  }
  return [Infinity, n];
}

function inputs_at_once(v, d, pred, network, plan, inputs) {
  let e, home, i, k, link, low, ready, u;
  k = inputs.lane.length;
  low = pred.ptr[v];
  ready = 0.0;
  for (let i_1 = 0, end_1 = (pred.ptr[(v + 1)] - low); i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[(low + i)];
    u = pred.producer[e];
    home = plan.device[u];
    link = ((home * k) + d);
    inputs.sent[i] = (plan.finish[u] + ((home !== d) ? network.send[home] : 0.0));
    inputs.there[i] = ((plan.finish[u] + network.delay[link]) + (pred.bytes[e] / network.bandwidth[link]));
    if ((inputs.there[i] > ready)) {
      ready = inputs.there[i];
    }
  }
  return ready;
}

function sort_inputs(v, d, pred, ports, plan, inputs) {
  let home, i, j, k, low, turn, u;
  k = inputs.lane.length;
  low = pred.ptr[v];
  turn = inputs.turn;
  for (let i_1 = 0, end_1 = (pred.ptr[(v + 1)] - low); i_1 < end_1; i_1 += 1) {
    i = i_1;
    u = pred.producer[pred.edge[(low + i)]];
    home = plan.device[u];
    inputs.lane[home] = ((ports.contention === 2) ? ports.free[((home * k) + d)] : ports.free[home]);
    j = i;
    while (((j > 0) && (plan.finish[pred.producer[pred.edge[(low + turn[(j - 1)])]]] > plan.finish[u]))) {
      turn[j] = turn[(j - 1)];
      j = (j - 1);
    }
    turn[j] = i;
  }
}

function held_until(begin, link, size, held, network) {
  return ((begin + (held * network.latency[link])) + (size / network.bandwidth[link]));
}

function inputs_in_turn(v, d, pred, network, ports, plan, inputs) {
  let before, begin, copy, e, home, i, j, k, link, low, ready, receiver, sent, tensor, there, u;
  k = inputs.lane.length;
  low = pred.ptr[v];
  sort_inputs(v, d, pred, ports, plan, inputs);
  sent = inputs.sent;
  there = inputs.there;
  receiver = ((ports.contention === 2) ? 0.0 : ports.free[(ports.in_port + d)]);
  ready = 0.0;
  before = (-1);
  tensor = (-1);
  for (let j_1 = 0, end_1 = (pred.ptr[(v + 1)] - low); j_1 < end_1; j_1 += 1) {
    j = j_1;
    i = inputs.turn[j];
    e = pred.edge[(low + i)];
    u = pred.producer[e];
    home = plan.device[u];
    copy = ((pred.tensor[e] * k) + d);
    if ((home === d)) {
      sent[i] = plan.finish[u];
      there[i] = plan.finish[u];
    } else {
      if ((ports.sent[copy] >= 0.0)) {
        sent[i] = ports.sent[copy];
        there[i] = ports.there[copy];
      } else {
        if ((pred.tensor[e] === tensor)) {
          sent[i] = sent[before];
          there[i] = there[before];
        } else {
          link = ((home * k) + d);
          begin = $max($max((plan.finish[u] + network.send[home]), inputs.lane[home]), receiver);
          sent[i] = begin;
          there[i] = ((begin + network.latency[link]) + (pred.bytes[e] / network.bandwidth[link]));
          inputs.lane[home] = held_until(begin, link, pred.bytes[e], ports.held, network);
          if ((ports.contention === 1)) {
            receiver = inputs.lane[home];
          }
        }
      }
    }
    before = i;
    tensor = pred.tensor[e];
    if ((there[i] > ready)) {
      ready = there[i];
    }
  }
  return ready;
}

function inputs_on(v, d, pred, network, ports, plan, inputs) {
  if ((ports.contention === 0)) {
    return inputs_at_once(v, d, pred, network, plan, inputs);
  }
  return inputs_in_turn(v, d, pred, network, ports, plan, inputs);
}

function needed_for_ever(v, needs, eligible) {
  return ((group_home(v, eligible) >= 0) ? 0.0 : needs.for_ever[v]);
}

function joins(t, d, plan, needs, held) {
  let s;
  if ((held.home.length === 0)) {
    return false;
  }
  s = needs.storage[t];
  return ((s !== t) && (plan.device[needs.root[t]] === d) && (held.waiting[s] > 0));
}

function bytes_made(t, needs, held) {
  return ((held.home.length === 0) ? needs.tensor_bytes[t] : needs.storage_bytes[t]);
}

function put_span(n, begin, end, size, spans) {
  spans.begins[n] = begin;
  spans.ends[n] = end;
  spans.sizes[n] = size;
  return (n + 1);
}

function last_to_read(i, v, pred, plan, d, held) {
  let e, h, j, reads;
  h = held.home[pred.tensor[pred.edge[(pred.ptr[v] + i)]]];
  if ((held.waiting[h] > (i + 1))) {
    return false;
  }
  reads = 0;
  for (let j_1 = 0, end_1 = (i + 1); j_1 < end_1; j_1 += 1) {
    j = j_1;
    e = pred.edge[(pred.ptr[v] + j)];
    if (((plan.device[pred.producer[e]] === d) && (held.home[pred.tensor[e]] === h))) {
      reads = (reads + 1);
    }
  }
  return (held.waiting[h] === reads);
}

function spans_of(v, d, start, finish, pred, plan, inputs, needs, held, spans) {
  let begin, consumed, dynamic, e, h, i, k, n, size, t, unused, use;
  k = needs.limit.length;
  n = 0;
  dynamic = (needs.model === 2);
  use = (dynamic ? finish : start);
  consumed = 0.0;
  unused = 0.0;
  for (let t_1 = needs.tensor_ptr[v], end_1 = needs.tensor_ptr[(v + 1)]; t_1 < end_1; t_1 += 1) {
    t = t_1;
    if (joins(t, d, plan, needs, held)) {
      continue;
    }
    if ((held.waiting[t] > 0)) {
      consumed = (consumed + bytes_made(t, needs, held));
    } else {
      unused = (unused + bytes_made(t, needs, held));
    }
  }
  if ((consumed !== 0.0)) {
    n = put_span(n, (dynamic ? start : finish), Infinity, consumed, spans);
  }
  if ((dynamic && (start < finish) && ((needs.temporary[v] + unused) !== 0.0))) {
    n = put_span(n, start, finish, (needs.temporary[v] + unused), spans);
  }
  for (let i_2 = 0, end_2 = (pred.ptr[(v + 1)] - pred.ptr[v]); i_2 < end_2; i_2 += 1) {
    i = i_2;
    e = pred.edge[(pred.ptr[v] + i)];
    t = pred.tensor[e];
    size = needs.tensor_bytes[t];
    if ((size === 0.0)) {
      continue;
    }
    if ((plan.device[pred.producer[e]] !== d)) {
      begin = held.copy_kept[((t * k) + d)];
      if ((begin < 0.0)) {
        begin = (dynamic ? inputs.sent[i] : inputs.there[i]);
      }
      if ((begin < use)) {
        n = put_span(n, begin, use, size, spans);
      }
    } else {
      if ((held.home.length > 0)) {
        h = held.home[t];
        if (last_to_read(i, v, pred, plan, d, held)) {
          n = put_span(n, $max(held.kept[h], use), Infinity, (-needs.storage_bytes[h]), spans);
        }
      } else {
        if ((held.waiting[t] === 1)) {
          n = put_span(n, ((held.kept[t] > use) ? held.kept[t] : use), Infinity, (-size), spans);
        }
      }
    }
  }
  return n;
}

function put_cut(time, size, spans, n) {
  let change, cuts, i, j;
  cuts = spans.cuts;
  change = spans.change;
  i = n;
  while (((i > 0) && (cuts[(i - 1)] > time))) {
    i = (i - 1);
  }
  if (((i > 0) && (cuts[(i - 1)] === time))) {
    change[(i - 1)] = (change[(i - 1)] + size);
    return n;
  }
  for (let j_2 = n, end_2 = i; j_2 > end_2; j_2 += -1) {
    j = j_2;
    cuts[j] = cuts[(j - 1)];
    change[j] = change[(j - 1)];
  }
  cuts[i] = time;
  change[i] = size;
  return (n + 1);
}

function add_up(n, spans) {
  let c, i, most;
  c = 0;
  for (let i_1 = 0, end_1 = n; i_1 < end_1; i_1 += 1) {
    i = i_1;
    c = put_cut(spans.begins[i], spans.sizes[i], spans, c);
    c = put_cut(spans.ends[i], (-spans.sizes[i]), spans, c);
  }
  most = 0.0;
  for (let i_2 = 1, end_2 = c; i_2 < end_2; i_2 += 1) {
    i = i_2;
    spans.change[i] = (spans.change[i] + spans.change[(i - 1)]);
  }
  for (let i_3 = 0, end_3 = (c - 1); i_3 < end_3; i_3 += 1) {
    i = i_3;
    if ((spans.change[i] > most)) {
      most = spans.change[i];
    }
  }
  return [c, most];
}

function next_start(d, start, length, bound, c, model, curve, spans) {
  let at, b, base, before_end, block, chain, i, more, skip, until, x;
  at = curve.at;
  chain = curve.chain;
  block = curve.block;
  b = curve.last[d];
  base = (b * 128);
  x = ((base + chain[((2 * b) + 1)]) - 1);
  until = Infinity;
  for (let i_1 = (c - 2), end_1 = (-1); i_1 > end_1; i_1 += -1) {
    i = i_1;
    more = spans.change[i];
    if (((curve.highest[d] + more) <= bound)) {
      continue;
    }
    while (true) {
      before_end = (at[x] < spans.cuts[(i + 1)]);
      if ((before_end && (((curve.level[x] + block[(2 * b)]) + more) > bound))) {
        if ((spans.cuts[i] < start)) {
          return Infinity;
        }
        return $max(((model === 1) ? (until - length) : until), $next_after(start, Infinity));
      }
      if ((at[x] <= spans.cuts[i])) {
        break;
      }
      skip = ((((block[(2 * b)] + block[((2 * b) + 1)]) + more) <= bound) || (at[base] >= spans.cuts[(i + 1)]));
      if (((x === base) || (skip && (at[base] > spans.cuts[i])))) {
        until = at[base];
        b = chain[(2 * b)];
        base = (b * 128);
        x = ((base + chain[((2 * b) + 1)]) - 1);
      } else {
        until = at[x];
        x = (x - 1);
      }
    }
  }
  return start;
}

function next_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans) {
  let bound, c, forever, most, n;
  if ((needs.model === 0)) {
    return start;
  }
  forever = needed_for_ever(v, needs, eligible);
  bound = ((needs.limit[d] - held.reserved[d]) - forever);
  if ((bound < 0.0)) {
    return Infinity;
  }
  if ((needs.model === 3)) {
    return start;
  }
  if (((forever > 0.0) && (curve.highest[d] > bound))) {
    return Infinity;
  }
  n = spans_of(v, d, start, (start + length), pred, plan, inputs, needs, held, spans);
  [c, most] = add_up(n, spans);
  if (((c === 0) || ((curve.highest[d] + most) <= bound))) {
    return start;
  }
  return next_start(d, start, length, bound, c, needs.model, curve, spans);
}

function earliest_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans) {
  let fits;
  while ((start < Infinity)) {
    fits = next_fit(v, d, start, length, pred, eligible, plan, inputs, needs, held, curve, spans);
    if ((fits === start)) {
      break;
    }
    start = fits;
  }
  return start;
}

function earliest(v, d, free, pred, times, network, eligible, limits, plan) {
  let curve, held, length, needs, s, spans;
  s = $max(free[d], inputs_on(v, d, pred, network, limits.ports, plan, limits.inputs));
  needs = limits.memory.needs; held = limits.memory.held; curve = limits.memory.curve; spans = limits.memory.spans;
  if ((needs.model === 0)) {
    return s;
  }
  length = exec_time(v, d, times);
  return earliest_fit(v, d, s, length, pred, eligible, plan, limits.inputs, needs, held, curve, spans);
}

function push_later(d, time, rank, queues) {
  push_entry(queues.later, (d * queues.rank.length), queues.n_later[d], time, Number(rank));
  queues.n_later[d] = (queues.n_later[d] + 1);
}

function postpone(d, time, queues) {
  let n, rank;
  n = queues.rank.length;
  if ((queues.n_now[d] > 0)) {
    rank = Math.trunc(queues.now[(d * n)]);
    pop_now(d, queues);
  } else {
    rank = Math.trunc(queues.later[(((2 * d) * n) + 1)]);
    pop_later(d, queues);
  }
  push_later(d, time, rank, queues);
}

function first_start(d, latest, rank, pred, times, network, eligible, limits, frontier, queues, bounds, plan) {
  let exact, none, r, s;
  none = queues.rank.length;
  while (true) {
    promote(d, frontier.free, eligible, queues, plan);
    [s, r] = first_ready(d, frontier.free, queues);
    if (((s === Infinity) || (s > latest) || ((s === latest) && (r > rank)))) {
      return [Infinity, Infinity, none];
    }
    if (unlimited(limits)) {
      return [s, s, r];
    }
    exact = earliest(Math.trunc(queues.item[r]), d, frontier.free, pred, times, network, eligible, limits, plan);
    if ((exact <= s)) {
      return [s, exact, r];
    }
    postpone(d, exact, queues);
    bounds.waits[d] = 1;
  }
}

function open_on(v, d, eligible, plan) {
  return (may_run(v, d, eligible) && !(gone(v, d, eligible, plan)));
}

function record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan) {
  let d, k, start;
  k = frontier.free.length;
  for (let d_1 = 0, end_1 = k; d_1 < end_1; d_1 += 1) {
    d = d_1;
    if (!(open_on(v, d, eligible, plan))) {
      continue;
    }
    if (unlimited(limits)) {
      start = $max(frontier.free[d], bounds.ready_on[((v * k) + d)]);
    } else {
      start = earliest(v, d, frontier.free, pred, times, network, eligible, limits, plan);
    }
    if ((start < Infinity)) {
      plan.score[((v * k) + d)] = start;
    }
  }
}

function find_peak(b, curve) {
  let i, most;
  most = curve.level[(b * 128)];
  for (let i_1 = ((b * 128) + 1), end_1 = ((b * 128) + curve.chain[((2 * b) + 1)]); i_1 < end_1; i_1 += 1) {
    i = i_1;
    if ((curve.level[i] > most)) {
      most = curve.level[i];
    }
  }
  curve.block[((2 * b) + 1)] = most;
}

function split(b, after, d, curve) {
  let c, j;
  c = curve.top[0];
  curve.top[0] = (curve.top[0] + 1);
  for (let j_1 = 0, end_1 = 64; j_1 < end_1; j_1 += 1) {
    j = j_1;
    curve.at[((c * 128) + j)] = curve.at[(((b * 128) + 64) + j)];
    curve.level[((c * 128) + j)] = curve.level[(((b * 128) + 64) + j)];
  }
  curve.chain[(2 * c)] = b;
  curve.chain[((2 * c) + 1)] = 64;
  curve.chain[((2 * b) + 1)] = 64;
  curve.block[(2 * c)] = curve.block[(2 * b)];
  if ((after < 0)) {
    curve.last[d] = c;
  } else {
    curve.chain[(2 * after)] = c;
  }
  find_peak(b, curve);
  find_peak(c, curve);
  return c;
}

function cut(d, time, curve) {
  let after, at, b, base, c, i, j;
  at = curve.at;
  after = (-1);
  b = curve.last[d];
  while ((at[(b * 128)] > time)) {
    after = b;
    b = curve.chain[(2 * b)];
  }
  i = first_after(at, (b * 128), curve.chain[((2 * b) + 1)], time);
  if ((at[(((b * 128) + i) - 1)] === time)) {
    return;
  }
  if ((curve.chain[((2 * b) + 1)] === 128)) {
    c = split(b, after, d, curve);
    if ((i > 64)) {
      b = c;
      i = (i - 64);
    }
  }
  base = (b * 128);
  for (let j_2 = (base + curve.chain[((2 * b) + 1)]), end_2 = (base + i); j_2 > end_2; j_2 += -1) {
    j = j_2;
    at[j] = at[(j - 1)];
    curve.level[j] = curve.level[(j - 1)];
  }
  at[(base + i)] = time;
  curve.level[(base + i)] = curve.level[((base + i) - 1)];
  curve.chain[((2 * b) + 1)] = (curve.chain[((2 * b) + 1)] + 1);
}

function find_highest(d, curve) {
  let b;
  curve.highest[d] = 0.0;
  b = curve.last[d];
  while ((b >= 0)) {
    if (((curve.block[(2 * b)] + curve.block[((2 * b) + 1)]) > curve.highest[d])) {
      curve.highest[d] = (curve.block[(2 * b)] + curve.block[((2 * b) + 1)]);
    }
    b = curve.chain[(2 * b)];
  }
}

function add_bytes(d, begin, end, size, curve) {
  let at, b, base, block, i, lowered, stop;
  cut(d, begin, curve);
  if ((end < Infinity)) {
    cut(d, end, curve);
  }
  at = curve.at;
  block = curve.block;
  lowered = false;
  b = curve.last[d];
  while ((at[(((b * 128) + curve.chain[((2 * b) + 1)]) - 1)] >= begin)) {
    base = (b * 128);
    stop = (base + curve.chain[((2 * b) + 1)]);
    if ((at[base] < end)) {
      lowered = (lowered || ((size < 0.0) && ((block[(2 * b)] + block[((2 * b) + 1)]) >= curve.highest[d])));
      if (((at[base] >= begin) && (at[(stop - 1)] < end))) {
        block[(2 * b)] = (block[(2 * b)] + size);
      } else {
        for (let i_2 = base, end_2 = stop; i_2 < end_2; i_2 += 1) {
          i = i_2;
          if ((begin <= at[i] && at[i] < end)) {
            curve.level[i] = (curve.level[i] + size);
          }
        }
        find_peak(b, curve);
      }
      if (((block[(2 * b)] + block[((2 * b) + 1)]) > curve.highest[d])) {
        curve.highest[d] = (block[(2 * b)] + block[((2 * b) + 1)]);
      }
    }
    b = curve.chain[(2 * b)];
    if ((b < 0)) {
      break;
    }
  }
  if (lowered) {
    find_highest(d, curve);
  }
}

function give_back(h, device, needs, held, curve) {
  if (((held.waiting[h] !== 0) || (device < 0))) {
    return false;
  }
  held.waiting[h] = (-1);
  held.eased[device] = 1;
  if ((needs.storage_bytes[h] > 0.0)) {
    add_bytes(device, held.kept[h], Infinity, (-needs.storage_bytes[h]), curve);
  }
  return true;
}

function take_shared(v, d, finish, use, pred, plan, inputs, needs, held, curve) {
  let began, e, freed, h, home, i, k, s, t;
  k = needs.limit.length;
  for (let t_1 = needs.tensor_ptr[v], end_1 = needs.tensor_ptr[(v + 1)]; t_1 < end_1; t_1 += 1) {
    t = t_1;
    h = (joins(t, d, plan, needs, held) ? needs.storage[t] : t);
    held.home[t] = h;
    held.kept[h] = $max(held.kept[h], finish);
  }
  for (let i_2 = 0, end_2 = (pred.ptr[(v + 1)] - pred.ptr[v]); i_2 < end_2; i_2 += 1) {
    i = i_2;
    e = pred.edge[(pred.ptr[v] + i)];
    t = pred.tensor[e];
    h = held.home[t];
    home = plan.device[pred.producer[e]];
    held.eased[home] = 1;
    held.waiting[t] = (held.waiting[t] - 1);
    if ((needs.storage[t] !== t)) {
      held.waiting[needs.storage[t]] = (held.waiting[needs.storage[t]] - 1);
    }
    held.kept[h] = $max(held.kept[h], ((home === d) ? use : inputs.there[i]));
    if ((home !== d)) {
      began = held.copy_kept[((t * k) + d)];
      held.copy_kept[((t * k) + d)] = $max(((began < 0.0) ? inputs.sent[i] : began), use);
      held.eased[d] = 1;
    }
  }
  freed = false;
  for (let i_3 = pred.ptr[v], end_3 = pred.ptr[(v + 1)]; i_3 < end_3; i_3 += 1) {
    i = i_3;
    t = pred.tensor[pred.edge[i]];
    s = needs.storage[t];
    if (((held.home[t] === t) && give_back(t, plan.device[pred.producer[pred.edge[i]]], needs, held, curve))) {
      freed = true;
    }
    if (((s !== t) && give_back(s, plan.device[needs.root[t]], needs, held, curve))) {
      freed = true;
    }
  }
  return freed;
}

function take_memory(v, d, start, finish, pred, eligible, plan, inputs, needs, held, curve, spans) {
  let began, e, freed, home, i, k, n, t, use;
  k = needs.limit.length;
  freed = false;
  if ((needs.model === 0)) {
    return freed;
  }
  held.reserved[d] = (held.reserved[d] + needed_for_ever(v, needs, eligible));
  if ((eligible.group[v] >= 0)) {
    held.eased[d] = 1;
  }
  if ((needs.model === 3)) {
    return freed;
  }
  n = spans_of(v, d, start, finish, pred, plan, inputs, needs, held, spans);
  for (let i_1 = 0, end_1 = n; i_1 < end_1; i_1 += 1) {
    i = i_1;
    if (((held.home.length > 0) && (spans.sizes[i] < 0.0))) {
      continue;
    }
    add_bytes(d, spans.begins[i], spans.ends[i], spans.sizes[i], curve);
    if ((spans.sizes[i] < 0.0)) {
      freed = true;
      held.eased[d] = 1;
    }
  }
  use = ((needs.model === 2) ? finish : start);
  if ((held.home.length > 0)) {
    return take_shared(v, d, finish, use, pred, plan, inputs, needs, held, curve);
  }
  for (let t_2 = needs.tensor_ptr[v], end_2 = needs.tensor_ptr[(v + 1)]; t_2 < end_2; t_2 += 1) {
    t = t_2;
    held.kept[t] = finish;
  }
  for (let i_3 = 0, end_3 = (pred.ptr[(v + 1)] - pred.ptr[v]); i_3 < end_3; i_3 += 1) {
    i = i_3;
    e = pred.edge[(pred.ptr[v] + i)];
    t = pred.tensor[e];
    home = plan.device[pred.producer[e]];
    held.waiting[t] = (held.waiting[t] - 1);
    held.kept[t] = $max(held.kept[t], ((home === d) ? use : inputs.there[i]));
    if ((held.waiting[t] === 1)) {
      held.eased[home] = 1;
    }
    if ((home !== d)) {
      began = held.copy_kept[((t * k) + d)];
      held.copy_kept[((t * k) + d)] = $max(((began < 0.0) ? inputs.sent[i] : began), use);
      if ((held.waiting[t] > 0)) {
        held.eased[d] = 1;
      } else {
        if ((needs.tensor_bytes[t] > 0.0)) {
          add_bytes(home, held.kept[t], Infinity, (-needs.tensor_bytes[t]), curve);
          freed = true;
          held.eased[home] = 1;
        }
      }
    }
  }
  return freed;
}

function mark_readers(value, v, d, pred, succ, limits, missing, marked, plan) {
  let e, found, i, k, t, u, w;
  k = limits.inputs.lane.length;
  found = false;
  for (let i_1 = pred.ptr[v], end_1 = pred.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    u = pred.producer[pred.edge[i]];
    t = pred.tensor[pred.edge[i]];
    if (((plan.device[u] === d) || (limits.ports.sent[((t * k) + d)] >= 0.0))) {
      continue;
    }
    for (let e_2 = succ.ptr[u], end_2 = succ.ptr[(u + 1)]; e_2 < end_2; e_2 += 1) {
      e = e_2;
      w = succ.consumer[e];
      if (((succ.tensor[e] === t) && (w !== v) && (missing[w] === 0) && (plan.device[w] < 0))) {
        marked[w] = value;
        found = true;
      }
    }
  }
  return found;
}

function reserve_links(v, d, pred, network, ports, plan, inputs) {
  let copy, e, free, home, i, k;
  if ((ports.contention === 0)) {
    return;
  }
  k = inputs.lane.length;
  for (let i_1 = 0, end_1 = (pred.ptr[(v + 1)] - pred.ptr[v]); i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[(pred.ptr[v] + i)];
    home = plan.device[pred.producer[e]];
    copy = ((pred.tensor[e] * k) + d);
    if (((home === d) || (ports.sent[copy] >= 0.0))) {
      continue;
    }
    free = held_until(inputs.sent[i], ((home * k) + d), pred.bytes[e], ports.held, network);
    ports.sent[copy] = inputs.sent[i];
    ports.there[copy] = inputs.there[i];
    if ((ports.contention === 2)) {
      ports.free[((home * k) + d)] = $max(ports.free[((home * k) + d)], free);
    } else {
      ports.free[home] = $max(ports.free[home], free);
      ports.free[(ports.in_port + d)] = $max(ports.free[(ports.in_port + d)], free);
    }
  }
}

function take_limits(v, d, pred, succ, network, eligible, limits, queues, bounds, plan) {
  let curve, held, inputs, memory, needs, ports, spans;
  ports = limits.ports; inputs = limits.inputs; memory = limits.memory;
  needs = memory.needs; held = memory.held; curve = memory.curve; spans = memory.spans;
  inputs_on(v, d, pred, network, ports, plan, inputs);
  if ((needs.model !== 0)) {
    take_memory(v, d, plan.start[v], plan.finish[v], pred, eligible, plan, inputs, needs, held, curve, spans);
  }
  if (((ports.contention !== 0) && (bounds.waits[d] !== 0))) {
    if (mark_readers(1, v, d, pred, succ, limits, queues.missing, bounds.marked, plan)) {
      settle(d, false, eligible, queues, bounds, plan);
      mark_readers(0, v, d, pred, succ, limits, queues.missing, bounds.marked, plan);
    }
  }
  reserve_links(v, d, pred, network, ports, plan, inputs);
}

function place(v, d, step, eligible, frontier, plan) {
  plan.device[v] = d;
  plan.order[step] = v;
  frontier.free[d] = plan.finish[v];
  fix_group(v, d, eligible);
}

function release(v, factor, pred, succ, network, eligible, frontier, queues, bounds, plan) {
  let d, e, k, keep, ready, w;
  k = frontier.free.length;
  keep = (bounds.ready_on.length > 0);
  for (let e_1 = succ.ptr[v], end_1 = succ.ptr[(v + 1)]; e_1 < end_1; e_1 += 1) {
    e = e_1;
    w = Math.trunc(succ.consumer[e]);
    queues.missing[w] = (queues.missing[w] - 1);
    if ((queues.missing[w] > 0)) {
      continue;
    }
    arrivals(w, 0, k, pred, network, plan, frontier.arrival);
    for (let d_2 = 0, end_2 = k; d_2 < end_2; d_2 += 1) {
      d = d_2;
      if (!(open_on(w, d, eligible, plan))) {
        continue;
      }
      ready = (frontier.arrival[d] * factor);
      if (keep) {
        bounds.ready_on[((w * k) + d)] = ready;
      }
      if ((ready <= frontier.free[d])) {
        push_now(w, d, queues);
      } else {
        push_later(d, ready, queues.rank[w], queues);
      }
    }
  }
}

function earliest_first(pred, succ, times, network, eligible, limits, frontier, queues, bounds, plan) {
  let best, best_rank, d, done, exact, f, free, k, n, r, s, soonest, step, v;
  n = plan.device.length;
  k = frontier.free.length;
  free = unlimited(limits);
  queue_entries(pred, eligible, limits, frontier, queues, bounds, plan);
  for (let step_1 = 0, end_1 = n; step_1 < end_1; step_1 += 1) {
    step = step_1;
    best = (-1);
    soonest = Infinity;
    best_rank = n;
    done = Infinity;
    for (let d_2 = 0, end_2 = k; d_2 < end_2; d_2 += 1) {
      d = d_2;
      if ((frontier.free[d] > soonest)) {
        continue;
      }
      settle_eased(d, limits.memory.held, eligible, queues, bounds, plan);
      [s, exact, r] = first_start(d, soonest, best_rank, pred, times, network, eligible, limits, frontier, queues, bounds, plan);
      if ((r === n)) {
        continue;
      }
      f = (exact + exec_time(Math.trunc(queues.item[r]), d, times));
      if (((s < soonest) || (r < best_rank) || (f < done))) {
        best = d;
        soonest = exact;
        best_rank = r;
        done = f;
      }
    }
    if ((best < 0)) {
      return step;
    }
    v = Math.trunc(queues.item[best_rank]);
    if ((plan.score.length > 0)) {
      record_starts(v, pred, times, network, eligible, limits, frontier, bounds, plan);
    }
    plan.start[v] = soonest;
    plan.finish[v] = done;
    if (!(free)) {
      take_limits(v, best, pred, succ, network, eligible, limits, queues, bounds, plan);
    }
    place(v, best, step, eligible, frontier, plan);
    release(v, 1.0, pred, succ, network, eligible, frontier, queues, bounds, plan);
  }
  return n;
}

function optimistic_cost(latency, per_byte, succ, times, network, eligible, ahead, table) {
  let d, e, k, least, n, s, size, v, w, x;
  k = network.send.length;
  n = (succ.ptr.length - 1);
  for (let v_1 = (n - 1), end_1 = (-1); v_1 > end_1; v_1 += -1) {
    v = v_1;
    for (let d_2 = 0, end_2 = k; d_2 < end_2; d_2 += 1) {
      d = d_2;
      table[((v * k) + d)] = 0.0;
    }
    for (let e_3 = succ.ptr[v], end_3 = succ.ptr[(v + 1)]; e_3 < end_3; e_3 += 1) {
      e = e_3;
      s = (succ.consumer[e] * k);
      size = succ.bytes[e];
      least = Infinity;
      for (let w_4 = 0, end_4 = k; w_4 < end_4; w_4 += 1) {
        w = w_4;
        if ((ahead[(s + w)] < least)) {
          least = ahead[(s + w)];
        }
      }
      for (let d_5 = 0, end_5 = k; d_5 < end_5; d_5 += 1) {
        d = d_5;
        x = ahead[(s + d)];
        if ((latency >= 0.0)) {
          x = $min(x, (least + (latency + (size * per_byte))));
        } else {
          for (let w_6 = 0, end_6 = k; w_6 < end_6; w_6 += 1) {
            w = w_6;
            x = $min(x, (ahead[(s + w)] + (network.delay[((d * k) + w)] + (size / network.bandwidth[((d * k) + w)]))));
          }
        }
        if ((x > table[((v * k) + d)])) {
          table[((v * k) + d)] = x;
        }
      }
    }
    for (let w_7 = 0, end_7 = k; w_7 < end_7; w_7 += 1) {
      w = w_7;
      ahead[((v * k) + w)] = (may_run(v, w, eligible) ? (table[((v * k) + w)] + exec_time(v, w, times)) : Infinity);
    }
  }
}

function stand(v, i, pred, network, plan, frontier, ready) {
  arrivals(v, 0, frontier.free.length, pred, network, plan, frontier.arrival);
  ready.op[i] = v;
  ready.at[v] = i;
}

function may_go(v, d, home, eligible) {
  return (may_run(v, d, eligible) && ((home < 0) || (home === d)));
}

function become_ready(v, i, pred, times, network, eligible, plan, frontier, ready) {
  let d, home, k, may, n;
  n = plan.device.length;
  k = frontier.free.length;
  home = group_home(v, eligible);
  stand(v, i, pred, network, plan, frontier, ready);
  for (let d_1 = 0, end_1 = k; d_1 < end_1; d_1 += 1) {
    d = d_1;
    may = may_go(v, d, home, eligible);
    ready.arrival[((d * n) + i)] = (may ? frontier.arrival[d] : Infinity);
    ready.length[((d * n) + i)] = (may ? exec_time(v, d, times) : 0.0);
  }
}

function finish_at(arrival, idle, length) {
  return (((arrival > idle) ? arrival : idle) + length);
}

function two_best(count, free, ready) {
  let a, arrival, arrival_e, b, c, d, e, i, idle, larger, length, length_e, n, other, second, soonest, x, y;
  n = ready.op.length;
  soonest = ready.soonest;
  second = ready.second;
  for (let d_1 = 0, end_1 = free.length; d_1 < end_1; d_1 += 2) {
    d = d_1;
    e = $min((d + 1), (free.length - 1));
    idle = free[d];
    other = ((e > d) ? free[e] : Infinity);
    arrival = ready.arrival.subarray((d * n), ((d * n) + count));
    length = ready.length.subarray((d * n), ((d * n) + count));
    arrival_e = ready.arrival.subarray((e * n), ((e * n) + count));
    length_e = ready.length.subarray((e * n), ((e * n) + count));
    if ((d === 0)) {
      for (let i_2 = 0, end_2 = count; i_2 < end_2; i_2 += 1) {
        i = i_2;
        x = finish_at(arrival[i], idle, length[i]);
        y = finish_at(arrival_e[i], other, length_e[i]);
        soonest[i] = ((x < y) ? x : y);
        second[i] = ((x < y) ? y : x);
      }
    } else {
      for (let i_3 = 0, end_3 = count; i_3 < end_3; i_3 += 1) {
        i = i_3;
        x = finish_at(arrival[i], idle, length[i]);
        y = finish_at(arrival_e[i], other, length_e[i]);
        a = ((x < y) ? x : y);
        b = ((x < y) ? y : x);
        c = soonest[i];
        larger = ((c > a) ? c : a);
        b = ((b < larger) ? b : larger);
        soonest[i] = (((c < a) ? c : a) + 0.0);
        second[i] = (((second[i] < b) ? second[i] : b) + 0.0);
      }
    }
  }
}

function first_of(count, rule, head, ready) {
  let chosen, i, key, least, op, other, second, soonest, x;
  op = ready.op;
  key = ready.key;
  soonest = ready.soonest;
  second = ready.second;
  for (let i_1 = 0, end_1 = count; i_1 < end_1; i_1 += 1) {
    i = i_1;
    x = soonest[i];
    if ((rule === 1)) {
      x = (-x);
    } else {
      if ((rule === 2)) {
        x = (x - second[i]);
      } else {
        if ((rule === 3)) {
          x = (x + ((x - second[i]) - head[op[i]]));
        }
      }
    }
    key[i] = x;
  }
  least = key[0];
  other = least;
  for (let i_2 = 0, end_2 = Math.floor(count / 2); i_2 < end_2; i_2 += 1) {
    i = i_2;
    least = ((key[(2 * i)] < least) ? key[(2 * i)] : least);
    other = ((key[((2 * i) + 1)] < other) ? key[((2 * i) + 1)] : other);
  }
  other = ((key[(count - 1)] < other) ? key[(count - 1)] : other);
  least = ((other < least) ? other : least);
  chosen = op.length;
  for (let i_3 = 0, end_3 = count; i_3 < end_3; i_3 += 1) {
    i = i_3;
    if (((key[i] === least) && (op[i] < chosen))) {
      chosen = op[i];
    }
  }
  return chosen;
}

function settle_group(v, device, count, row, never, eligible, ready) {
  let d, i, n;
  n = ready.op.length;
  if (((group_home(v, eligible) < 0) && (eligible.group[v] >= 0))) {
    for (let i_1 = 0, end_1 = count; i_1 < end_1; i_1 += 1) {
      i = i_1;
      if ((eligible.group[ready.op[i]] === eligible.group[v])) {
        for (let d_2 = 0, end_2 = Math.floor(row.length / n); d_2 < end_2; d_2 += 1) {
          d = d_2;
          if ((d !== device)) {
            row[((d * n) + i)] = never;
          }
        }
      }
    }
  }
  fix_group(v, device, eligible);
}

function move(i, j, k, ready) {
  let d, n;
  n = ready.op.length;
  ready.op[j] = ready.op[i];
  ready.at[ready.op[j]] = j;
  for (let d_1 = 0, end_1 = k; d_1 < end_1; d_1 += 1) {
    d = d_1;
    ready.arrival[((d * n) + j)] = ready.arrival[((d * n) + i)];
    ready.length[((d * n) + j)] = ready.length[((d * n) + i)];
  }
}

function choose_ready(rule, by_round, most, head, pred, succ, times, network, eligible, frontier, ready, plan) {
  let best, count, d, e, f, free, i, k, n, record, start, step, total, v, w;
  n = plan.device.length;
  k = frontier.free.length;
  record = (plan.score.length === (n * k));
  free = frontier.free;
  clear_devices(eligible, free);
  total = 0;
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    ready.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
    if (((ready.missing[v] === 0) && (total <= most))) {
      become_ready(v, total, pred, times, network, eligible, plan, frontier, ready);
      total = (total + 1);
    }
  }
  count = total;
  for (let step_2 = 0, end_2 = n; step_2 < end_2; step_2 += 1) {
    step = step_2;
    if ((total > most)) {
      return 0;
    }
    if (((count === 0) || (by_round === 0))) {
      count = total;
    }
    two_best(count, free, ready);
    v = first_of(count, rule, head, ready);
    i = ready.at[v];
    best = (-1);
    for (let d_3 = 0, end_3 = k; d_3 < end_3; d_3 += 1) {
      d = d_3;
      start = $max(ready.arrival[((d * n) + i)], free[d]);
      f = (start + ready.length[((d * n) + i)]);
      if ((record && (start < Infinity))) {
        plan.score[((v * k) + d)] = f;
      }
      if (((best < 0) && (f === ready.soonest[i]))) {
        best = d;
        plan.start[v] = start;
      }
    }
    plan.order[step] = v;
    plan.device[v] = best;
    plan.finish[v] = ready.soonest[i];
    free[best] = plan.finish[v];
    settle_group(v, best, total, ready.arrival, Infinity, eligible, ready);
    count = (count - 1);
    total = (total - 1);
    move(count, i, k, ready);
    if ((total > count)) {
      move(total, count, k, ready);
    }
    for (let e_4 = succ.ptr[v], end_4 = succ.ptr[(v + 1)]; e_4 < end_4; e_4 += 1) {
      e = e_4;
      w = succ.consumer[e];
      ready.missing[w] = (ready.missing[w] - 1);
      if ((ready.missing[w] === 0)) {
        become_ready(w, total, pred, times, network, eligible, plan, frontier, ready);
        total = (total + 1);
      }
    }
  }
  return 1;
}

function start_of(v, c, eligible, free, kinds) {
  let d, home, i, k, s, start, waits;
  k = free.length;
  home = group_home(v, eligible);
  start = Infinity;
  waits = (eligible.group[v] >= 0);
  for (let i_1 = kinds.first[c], end_1 = kinds.first[(c + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    d = kinds.device[i];
    if (!(may_go(v, d, home, eligible))) {
      waits = true;
      continue;
    }
    s = kinds.arrival[((v * k) + d)];
    if ((s > free[d])) {
      waits = true;
    } else {
      s = free[d];
    }
    start = $min(start, s);
  }
  return (waits ? start : (-1.0));
}

function length_minus_head(v, c, head, times, kinds) {
  let x;
  x = exec_time(v, kinds.device[kinds.first[c]], times);
  if ((head.length > 0)) {
    x = (x - head[v]);
  }
  return x;
}

function enter(v, c, x, tree) {
  let level, row;
  row = ((v * tree.columns) + c);
  level = 0;
  while (((level < tree.level.length) && (x < tree.least[(tree.level[level] + row)]))) {
    tree.least[(tree.level[level] + row)] = x;
    level = (level + 1);
    row = ((Math.floor(v / 2 ** (2 * level)) * tree.columns) + c);
  }
}

function look_at(v, again, head, times, eligible, free, kinds, tree) {
  let arrived, c, start, waiting, x;
  waiting = Infinity;
  arrived = Infinity;
  for (let c_1 = 0, end_1 = tree.columns; c_1 < end_1; c_1 += 1) {
    c = c_1;
    if ((again && (tree.least[((v * tree.columns) + c)] < Infinity))) {
      continue;
    }
    start = start_of(v, c, eligible, free, kinds);
    if ((start === Infinity)) {
      continue;
    }
    x = length_minus_head(v, c, head, times, kinds);
    if ((start < 0.0)) {
      enter(v, c, x, tree);
      arrived = $min(arrived, (kinds.idle[c] + x));
    } else {
      waiting = $min(waiting, (start + x));
    }
  }
  return [waiting, arrived];
}

function become_ready_choose_least(v, size, head, times, eligible, free, kinds, tree) {
  let bound;
  [bound, ] = look_at(v, false, head, times, eligible, free, kinds, tree);
  return ((bound < Infinity) ? push_event(kinds.heap, size, bound, Number(v)) : size);
}

function leaf_of(c, tree) {
  let a, at, b, d, i, level, v, w, x;
  w = tree.columns;
  x = tree.least[(tree.level[(tree.level.length - 1)] + c)];
  v = 0;
  for (let level_1 = (tree.level.length - 2), end_1 = (-1); level_1 > end_1; level_1 += -1) {
    level = level_1;
    at = ((tree.level[level] + ((4 * v) * w)) + c);
    a = tree.least[at];
    b = tree.least[(at + w)];
    d = tree.least[(at + (2 * w))];
    i = ((d <= x) ? 2 : 3);
    i = ((b <= x) ? 1 : i);
    i = ((a <= x) ? 0 : i);
    v = ((4 * v) + i);
  }
  return v;
}

function first_leaf(n, idle, tree) {
  let best, c, least, root, x;
  root = tree.level[(tree.level.length - 1)];
  least = Infinity;
  for (let c_1 = 0, end_1 = idle.length; c_1 < end_1; c_1 += 1) {
    c = c_1;
    x = (idle[c] + tree.least[(root + c)]);
    least = ((x < least) ? x : least);
  }
  best = n;
  if ((least < Infinity)) {
    for (let c_2 = 0, end_2 = idle.length; c_2 < end_2; c_2 += 1) {
      c = c_2;
      if (((idle[c] + tree.least[(root + c)]) === least)) {
        best = $min(best, leaf_of(c, tree));
      }
    }
  }
  return [best, least];
}

function leave(v, tree) {
  let a, b, below, c, d, e, least, level, most, node, row, w, x, y;
  w = tree.columns;
  least = tree.least;
  most = Infinity;
  for (let c_1 = (v * w), end_1 = ((v + 1) * w); c_1 < end_1; c_1 += 1) {
    c = c_1;
    most = ((least[c] < most) ? least[c] : most);
    least[c] = Infinity;
  }
  if ((most === Infinity)) {
    return;
  }
  row = v;
  for (let level_2 = 1, end_2 = tree.level.length; level_2 < end_2; level_2 += 1) {
    level = level_2;
    row = (row >> 2);
    node = (tree.level[level] + (row * w));
    below = (tree.level[(level - 1)] + ((4 * row) * w));
    a = least.subarray(below, (below + w));
    b = least.subarray((below + w), (below + (2 * w)));
    d = least.subarray((below + (2 * w)), (below + (3 * w)));
    e = least.subarray((below + (3 * w)), (below + (4 * w)));
    for (let c_3 = 0, end_3 = w; c_3 < end_3; c_3 += 1) {
      c = c_3;
      x = ((b[c] < a[c]) ? b[c] : a[c]);
      y = ((e[c] < d[c]) ? e[c] : d[c]);
      least[(node + c)] = ((y < x) ? y : x);
    }
  }
}

function send(e, d, done, succ, network, k, kinds) {
  let bandwidth, delay, i, row, size, x, y;
  size = succ.bytes[e];
  delay = network.delay.subarray((d * k), ((d * k) + k));
  bandwidth = network.bandwidth.subarray((d * k), ((d * k) + k));
  row = (succ.consumer[e] * k);
  for (let i_1 = 0, end_1 = k; i_1 < end_1; i_1 += 1) {
    i = i_1;
    x = ((done + delay[i]) + (size / bandwidth[i]));
    y = kinds.arrival[(row + i)];
    kinds.arrival[(row + i)] = ((x > y) ? x : y);
  }
}

function choose_least(head, pred, succ, times, network, eligible, frontier, kinds, tree, plan) {
  let arrived, best, bound, c, d, e, exact, f, free, home, i, k, least, n, record, size, soonest, step, u, v, w;
  n = plan.device.length;
  k = frontier.free.length;
  record = (plan.score.length === (n * k));
  free = frontier.free;
  clear_devices(eligible, free);
  for (let c_1 = 0, end_1 = kinds.idle.length; c_1 < end_1; c_1 += 1) {
    c = c_1;
    kinds.idle[c] = 0.0;
  }
  for (let i_2 = 0, end_2 = tree.least.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    tree.least[i] = Infinity;
  }
  for (let i_3 = 0, end_3 = kinds.arrival.length; i_3 < end_3; i_3 += 1) {
    i = i_3;
    kinds.arrival[i] = 0.0;
  }
  size = 0;
  for (let v_4 = 0, end_4 = n; v_4 < end_4; v_4 += 1) {
    v = v_4;
    plan.device[v] = (-1);
    kinds.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
    if ((kinds.missing[v] === 0)) {
      size = become_ready_choose_least(v, size, head, times, eligible, free, kinds, tree);
    }
  }
  for (let step_5 = 0, end_5 = n; step_5 < end_5; step_5 += 1) {
    step = step_5;
    [v, least] = first_leaf(n, kinds.idle, tree);
    while ((size > 0)) {
      bound = kinds.heap[0];
      u = Math.trunc(kinds.heap[1]);
      if (((bound > least) || ((bound === least) && (u > v)))) {
        break;
      }
      exact = Infinity;
      arrived = Infinity;
      if ((plan.device[u] < 0)) {
        [exact, arrived] = look_at(u, true, head, times, eligible, free, kinds, tree);
      }
      if ((exact === bound)) {
        v = u;
        break;
      }
      if ((arrived <= least)) {
        [v, least] = first_leaf(n, kinds.idle, tree);
      }
      size = pop_event(kinds.heap, size);
      if ((exact < Infinity)) {
        size = push_event(kinds.heap, size, exact, Number(u));
      }
    }
    home = group_home(v, eligible);
    best = (-1);
    soonest = Infinity;
    for (let d_7 = 0, end_7 = k; d_7 < end_7; d_7 += 1) {
      d = d_7;
      if (may_go(v, d, home, eligible)) {
        f = ($max(kinds.arrival[((v * k) + d)], free[d]) + exec_time(v, d, times));
        if (record) {
          plan.score[((v * k) + d)] = f;
        }
        if ((f < soonest)) {
          best = d;
          soonest = f;
        }
      }
    }
    plan.order[step] = v;
    plan.device[v] = best;
    plan.start[v] = $max(kinds.arrival[((v * k) + best)], free[best]);
    plan.finish[v] = soonest;
    free[best] = soonest;
    leave(v, tree);
    fix_group(v, best, eligible);
    c = kinds.kind[best];
    kinds.idle[c] = Infinity;
    for (let i_8 = kinds.first[c], end_8 = kinds.first[(c + 1)]; i_8 < end_8; i_8 += 1) {
      i = i_8;
      kinds.idle[c] = $min(kinds.idle[c], free[kinds.device[i]]);
    }
    for (let e_9 = succ.ptr[v], end_9 = succ.ptr[(v + 1)]; e_9 < end_9; e_9 += 1) {
      e = e_9;
      w = succ.consumer[e];
      send(e, best, soonest, succ, network, k, kinds);
      kinds.missing[w] = (kinds.missing[w] - 1);
      if ((kinds.missing[w] === 0)) {
        size = become_ready_choose_least(w, size, head, times, eligible, free, kinds, tree);
      }
    }
  }
}

function key_of(v, place, agenda) {
  return ((place.length > 0) ? Number(place[v]) : agenda.became[v]);
}

function start_agenda(place, pred, agenda) {
  let size, v;
  size = 0;
  for (let v_1 = 0, end_1 = agenda.missing.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    agenda.became[v] = 0.0;
    agenda.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
    if ((agenda.missing[v] === 0)) {
      size = push_event(agenda.heap, size, key_of(v, place, agenda), Number(v));
    }
  }
  return size;
}

function idle_from(d, time, length, insertion, busy) {
  if (insertion) {
    return gap(d, busy, time, length, 1.7e+308);
  }
  return $max(time, busy.ends[d]);
}

function release_list_schedule(v, size, place, succ, plan, agenda) {
  let e, w;
  for (let e_1 = succ.ptr[v], end_1 = succ.ptr[(v + 1)]; e_1 < end_1; e_1 += 1) {
    e = e_1;
    w = succ.consumer[e];
    agenda.missing[w] = (agenda.missing[w] - 1);
    if ((plan.finish[v] > agenda.became[w])) {
      agenda.became[w] = plan.finish[v];
    }
    if ((agenda.missing[w] === 0)) {
      size = push_event(agenda.heap, size, key_of(w, place, agenda), Number(w));
    }
  }
  return size;
}

function one_by_one(place, preferred, insertion, aim, pred, succ, times, network, eligible, inputs, memory, agenda, busy, plan) {
  let attempt, begin, best, curve, d, fits, fixed, freed, held, high, i, k, key, least, length, low, n, n_aside, needs, placed, plain, ready, record, retried, s, size, soonest, spans, v, x;
  needs = memory.needs; held = memory.held; curve = memory.curve; spans = memory.spans;
  n = plan.device.length;
  k = needs.limit.length;
  record = (plan.score.length === (n * k));
  plain = ((aim.rule === 0) && (aim.extra.length === 0));
  clear_memory(pred, needs, held, curve);
  clear_busy(busy);
  clear_groups(eligible);
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    plan.device[v] = (-1);
  }
  size = start_agenda(place, pred, agenda);
  n_aside = 0;
  placed = 0;
  retried = 0;
  freed = false;
  while ((placed < n)) {
    if (((size === 0) && (retried === placed))) {
      return placed;
    }
    if ((freed || (size === 0))) {
      if ((size === 0)) {
        retried = placed;
      }
      for (let i_3 = 0, end_3 = n_aside; i_3 < end_3; i_3 += 1) {
        i = i_3;
        size = push_event(agenda.heap, size, agenda.aside[(2 * i)], agenda.aside[((2 * i) + 1)]);
      }
      n_aside = 0;
      freed = false;
    }
    key = agenda.heap[0];
    v = Math.trunc(agenda.heap[1]);
    size = pop_event(agenda.heap, size);
    fixed = group_home(v, eligible);
    best = (-1);
    least = Infinity;
    soonest = Infinity;
    begin = 0.0;
    for (let attempt_4 = 0, end_4 = 2; attempt_4 < end_4; attempt_4 += 1) {
      attempt = attempt_4;
      low = ((attempt === 0) ? preferred[v] : 0);
      high = ((attempt === 0) ? (low + 1) : k);
      if (((low < 0) || (best >= 0))) {
        continue;
      }
      for (let d_5 = low, end_5 = high; d_5 < end_5; d_5 += 1) {
        d = d_5;
        if (!(may_go(v, d, fixed, eligible))) {
          continue;
        }
        ready = inputs_at_once(v, d, pred, network, plan, inputs);
        length = exec_time(v, d, times);
        s = idle_from(d, ready, length, insertion, busy);
        while (((s < Infinity) && (record || !(plain) || ((s + length) < soonest)))) {
          fits = next_fit(v, d, s, length, pred, eligible, plan, inputs, needs, held, curve, spans);
          if ((fits === s)) {
            break;
          }
          s = fits;
          if ((s < Infinity)) {
            s = idle_from(d, s, length, insertion, busy);
          }
        }
        if ((s === Infinity)) {
          continue;
        }
        x = aimed(aim, ((v * k) + d), s, length);
        if (record) {
          plan.score[((v * k) + d)] = x;
        }
        if (((x < least) || ((aim.rule === 1) && (x === least) && ((s + length) < soonest)))) {
          best = d;
          least = x;
          soonest = (s + length);
          begin = s;
        }
      }
    }
    if ((best < 0)) {
      agenda.aside[(2 * n_aside)] = key;
      agenda.aside[((2 * n_aside) + 1)] = Number(v);
      n_aside = (n_aside + 1);
      continue;
    }
    inputs_at_once(v, best, pred, network, plan, inputs);
    freed = take_memory(v, best, begin, soonest, pred, eligible, plan, inputs, needs, held, curve, spans);
    plan.device[v] = best;
    plan.start[v] = begin;
    plan.finish[v] = soonest;
    plan.order[placed] = v;
    placed = (placed + 1);
    fix_group(v, best, eligible);
    run_on(best, insertion, busy, begin, soonest);
    size = release_list_schedule(v, size, place, succ, plan, agenda);
  }
  return placed;
}

function path_computation_time(exec_time, device, succ, network, rank, transfer_rank) {
  let away, d, e, home, i, k, link, longest, s, t, v, wanted, way, x;
  k = network.send.length;
  wanted = (transfer_rank.length > 0);
  for (let i_1 = 0, end_1 = transfer_rank.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    transfer_rank[i] = 0.0;
  }
  for (let v_2 = (exec_time.length - 1), end_2 = (-1); v_2 > end_2; v_2 += -1) {
    v = v_2;
    home = device[v];
    longest = 0.0;
    for (let e_3 = succ.ptr[v], end_3 = succ.ptr[(v + 1)]; e_3 < end_3; e_3 += 1) {
      e = e_3;
      s = succ.consumer[e];
      d = device[s];
      t = succ.tensor[e];
      link = ((home * k) + d);
      away = ((d !== home) ? 1.0 : 0.0);
      way = (((away * network.send[home]) + network.latency[link]) + (succ.bytes[e] / network.bandwidth[link]));
      x = (way + ((away * network.send[d]) + rank[s]));
      longest = ((x > longest) ? x : longest);
      if ((wanted && (d !== home) && (x > transfer_rank[((t * k) + d)]))) {
        transfer_rank[((t * k) + d)] = x;
      }
    }
    rank[v] = (exec_time[v] + longest);
  }
}

function number_transfers(device, succ, producer, sorting, receivers, transfers) {
  let by_device, count, cursor, d, e, home, i, last_device, last_tensor, n_devices, n_edges, n_ops, of_edge, t, u, v, w, x;
  count = sorting.count; by_device = sorting.by_device; cursor = sorting.cursor;
  of_edge = transfers.of_edge;
  n_ops = device.length;
  n_devices = (count.length - 1);
  n_edges = succ.consumer.length;
  for (let d_1 = 0, end_1 = (n_devices + 1); d_1 < end_1; d_1 += 1) {
    d = d_1;
    count[d] = 0;
  }
  for (let e_2 = 0, end_2 = n_edges; e_2 < end_2; e_2 += 1) {
    e = e_2;
    count[(device[succ.consumer[e]] + 1)] = (count[(device[succ.consumer[e]] + 1)] + 1);
  }
  for (let d_3 = 0, end_3 = n_devices; d_3 < end_3; d_3 += 1) {
    d = d_3;
    count[(d + 1)] = (count[(d + 1)] + count[d]);
  }
  for (let e_4 = 0, end_4 = n_edges; e_4 < end_4; e_4 += 1) {
    e = e_4;
    d = device[succ.consumer[e]];
    by_device[count[d]] = e;
    count[d] = (count[d] + 1);
  }
  for (let v_5 = 0, end_5 = n_ops; v_5 < end_5; v_5 += 1) {
    v = v_5;
    cursor[v] = succ.ptr[v];
  }
  for (let i_6 = 0, end_6 = n_edges; i_6 < end_6; i_6 += 1) {
    i = i_6;
    e = by_device[i];
    u = producer[e];
    of_edge[cursor[u]] = e;
    cursor[u] = (cursor[u] + 1);
  }
  x = 0;
  for (let v_7 = 0, end_7 = n_ops; v_7 < end_7; v_7 += 1) {
    v = v_7;
    transfers.ptr[v] = x;
    home = device[v];
    receivers.local[(2 * v)] = succ.ptr[v];
    receivers.local[((2 * v) + 1)] = succ.ptr[v];
    last_device = (-1);
    last_tensor = (-1);
    for (let i_8 = succ.ptr[v], end_8 = succ.ptr[(v + 1)]; i_8 < end_8; i_8 += 1) {
      i = i_8;
      e = of_edge[i];
      w = succ.consumer[e];
      d = device[w];
      receivers.op[i] = w;
      if ((d === home)) {
        if ((last_device !== home)) {
          receivers.local[(2 * v)] = i;
        }
        receivers.local[((2 * v) + 1)] = (i + 1);
        by_device[e] = (-1);
      } else {
        t = succ.tensor[e];
        if (((d !== last_device) || (t !== last_tensor))) {
          transfers.tensor[x] = t;
          transfers.destination[x] = d;
          transfers.source[x] = home;
          receivers.ptr[(2 * x)] = i;
          x = (x + 1);
        }
        receivers.ptr[((2 * x) - 1)] = (i + 1);
        by_device[e] = (x - 1);
        last_tensor = t;
      }
      last_device = d;
    }
  }
  transfers.ptr[n_ops] = x;
  for (let e_9 = 0, end_9 = n_edges; e_9 < end_9; e_9 += 1) {
    e = e_9;
    of_edge[e] = by_device[e];
  }
  return x;
}

function group_transfers(device, succ, producer, sorting, receivers, transfers) {
  return number_transfers(device, succ, producer, sorting, receivers, transfers);
}

function place_ops(b, ops, pred, copies, receivers, order, contention, devices, batch) {
  let base, d, k, n, n_transfers, times, v, x;
  n = ops.device.length;
  times = batch.times;
  for (let v_1 = 0, end_1 = n; v_1 < end_1; v_1 += 1) {
    v = v_1;
    d = batch.rows.device[((b * n) + v)];
    ops.device[v] = d;
    ops.duration[v] = (times.cost[((v * times.columns) + times.column[d])] / times.divisor[d]);
  }
  n_transfers = number_transfers(ops.device, batch.succ, pred.producer, batch.sorting, receivers, copies);
  k = devices.busy.length;
  base = order.ready.base;
  for (let d_2 = 0, end_2 = k; d_2 < end_2; d_2 += 1) {
    d = d_2;
    base[(d + 1)] = 0;
  }
  for (let v_3 = 0, end_3 = n; v_3 < end_3; v_3 += 1) {
    v = v_3;
    base[(ops.device[v] + 1)] = (base[(ops.device[v] + 1)] + 1);
  }
  for (let d_4 = 0, end_4 = k; d_4 < end_4; d_4 += 1) {
    d = d_4;
    base[(d + 1)] = (base[(d + 1)] + base[d]);
  }
  if ((contention.links.contention === 2)) {
    for (let x_5 = 0, end_5 = n_transfers; x_5 < end_5; x_5 += 1) {
      x = x_5;
      contention.queues.of[x] = batch.queue[((copies.source[x] * k) + copies.destination[x])];
    }
  }
}

function take_row(b, rows, into) {
  let begin, i;
  if ((rows.length > 0)) {
    begin = (b * into.length);
    for (let i_1 = 0, end_1 = into.length; i_1 < end_1; i_1 += 1) {
      i = i_1;
      into[i] = rows[(begin + i)];
    }
  }
}

function deal_out(begin, ops, device, sequence) {
  let d, following, i, k, op, ptr, v;
  ptr = sequence.ptr; op = sequence.op; following = sequence.next;
  k = following.length;
  for (let d_1 = 0, end_1 = (k + 1); d_1 < end_1; d_1 += 1) {
    d = d_1;
    ptr[d] = 0;
  }
  for (let v_2 = 0, end_2 = device.length; v_2 < end_2; v_2 += 1) {
    v = v_2;
    ptr[(device[v] + 1)] = (ptr[(device[v] + 1)] + 1);
  }
  for (let d_3 = 0, end_3 = k; d_3 < end_3; d_3 += 1) {
    d = d_3;
    ptr[(d + 1)] = (ptr[(d + 1)] + ptr[d]);
    following[d] = ptr[d];
  }
  for (let i_4 = begin, end_4 = (begin + device.length); i_4 < end_4; i_4 += 1) {
    i = i_4;
    d = device[ops[i]];
    op[following[d]] = ops[i];
    following[d] = (following[d] + 1);
  }
}

function empty_devices(order, devices) {
  let d, i, msr, sequence, v;
  devices.touched.size[0] = 0;
  sequence = order.sequence;
  msr = order.msr;
  for (let d_1 = 0, end_1 = devices.busy.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    devices.busy[d] = 0;
    devices.touched.flag[d] = 0;
    order.ready.count[d] = 0;
    order.sends.count[d] = 0;
    sequence.next[d] = sequence.ptr[d];
  }
  for (let v_2 = 0, end_2 = order.classes.turn.length; v_2 < end_2; v_2 += 1) {
    v = v_2;
    order.classes.turn[v] = (-1);
    order.classes.since[v] = (-1);
  }
  for (let v_3 = 0, end_3 = msr.heaps.since.length; v_3 < end_3; v_3 += 1) {
    v = v_3;
    msr.heaps.since[v] = (-1);
    for (let i_4 = 0, end_4 = 3; i_4 < end_4; i_4 += 1) {
      i = i_4;
      msr.heaps.links[((3 * v) + i)] = (-1);
      msr.facts[((4 * v) + i)] = 0;
    }
    msr.facts[((4 * v) + 3)] = -1;
  }
}

function empty_links(n_transfers, contention) {
  let links, p, pairs, q, queues, x;
  links = contention.links; queues = contention.queues; pairs = contention.pairs;
  for (let p_1 = 0, end_1 = links.port.length; p_1 < end_1; p_1 += 1) {
    p = p_1;
    links.port[p] = 0.0;
  }
  for (let q_2 = 0, end_2 = links.channel.length; q_2 < end_2; q_2 += 1) {
    q = q_2;
    links.channel[q] = 0;
  }
  queues.base[0] = 0;
  for (let q_3 = 0, end_3 = queues.count.length; q_3 < end_3; q_3 += 1) {
    q = q_3;
    queues.count[q] = 0;
    queues.base[(q + 1)] = 0;
  }
  for (let x_4 = 0, end_4 = $min(n_transfers, queues.of.length); x_4 < end_4; x_4 += 1) {
    x = x_4;
    queues.base[(queues.of[x] + 1)] = (queues.base[(queues.of[x] + 1)] + 1);
  }
  for (let q_5 = 0, end_5 = queues.count.length; q_5 < end_5; q_5 += 1) {
    q = q_5;
    queues.base[(q + 1)] = (queues.base[(q + 1)] + queues.base[q]);
  }
  queues.n_requests[0] = 0;
  for (let q_6 = 0, end_6 = pairs.flag.length; q_6 < end_6; q_6 += 1) {
    q = q_6;
    pairs.flag[q] = 0;
  }
  pairs.size[0] = 0;
}

function begin_run(b, ops, pred, copies, receivers, network, order, needs, contention, devices, events, clock, batch) {
  let i, rows, v;
  rows = batch.rows;
  if ((rows.device.length > 0)) {
    place_ops(b, ops, pred, copies, receivers, order, contention, devices, batch);
  }
  take_row(b, rows.duration, ops.duration);
  take_row(b, rows.latency, network.latency);
  take_row(b, rows.bandwidth, network.bandwidth);
  take_row(b, rows.send, network.send);
  take_row(b, rows.tensor_bytes, needs.tensor_bytes);
  take_row(b, rows.rank, order.rule.rank);
  take_row(b, rows.item, order.rule.item);
  take_row(b, rows.first, order.classes.first);
  take_row(b, rows.transfer_rank, contention.queues.rank);
  if ((rows.sequence.length > 0)) {
    deal_out((b * ops.device.length), rows.sequence, ops.device, order.sequence);
  }
  for (let v_1 = 0, end_1 = ops.missing.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    ops.missing[v] = (pred.ptr[(v + 1)] - pred.ptr[v]);
  }
  for (let i_2 = 0, end_2 = clock.count.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    clock.count[i] = 0;
  }
  clock.now[0] = 0.0;
  events.size[0] = 0;
  empty_devices(order, devices);
  empty_links(copies.ptr[ops.device.length], contention);
}

function empty_flows(copies, k, flows, shared) {
  let c, i, l, x;
  for (let c_1 = 0, end_1 = (k * k); c_1 < end_1; c_1 += 1) {
    c = c_1;
    flows.count[c] = 0;
    flows.stale[c] = 0;
    flows.rate[c] = 0.0;
    flows.served[c] = 0.0;
    flows.due[c] = Infinity;
    flows.base[(c + 1)] = 0;
  }
  for (let x_2 = 0, end_2 = copies.tensor.length; x_2 < end_2; x_2 += 1) {
    x = x_2;
    flows.base[(((copies.source[x] * k) + copies.destination[x]) + 1)] = (flows.base[(((copies.source[x] * k) + copies.destination[x]) + 1)] + 1);
  }
  for (let c_3 = 0, end_3 = (k * k); c_3 < end_3; c_3 += 1) {
    c = c_3;
    flows.base[(c + 1)] = (flows.base[(c + 1)] + flows.base[c]);
  }
  for (let i_4 = 0, end_4 = flows.number.length; i_4 < end_4; i_4 += 1) {
    i = i_4;
    flows.number[i] = 0;
  }
  flows.next[0] = (-1.0);
  for (let l_5 = 0, end_5 = shared.flows.length; l_5 < end_5; l_5 += 1) {
    l = l_5;
    shared.flows[l] = 0;
  }
}

function alike(item, other, facts) {
  let i, j;
  i = (4 * item);
  j = (4 * other);
  return ((facts[i] === facts[j]) && (facts[(i + 1)] === facts[(j + 1)]) && (facts[(i + 2)] === facts[(j + 2)]) && (facts[(i + 3)] === facts[(j + 3)]) && (facts[(i + 3)] !== -2));
}

function waits_longer(item, other, heaps) {
  let rank, since;
  since = heaps.since;
  rank = heaps.rank;
  return ((since[item] < since[other]) || ((since[item] === since[other]) && (rank[item] < rank[other])));
}

function meld(a, b, heaps) {
  let child, links, top, under;
  if ((a < 0)) {
    return b;
  }
  if ((b < 0)) {
    return a;
  }
  links = heaps.links;
  top = a;
  under = b;
  if (waits_longer(b, a, heaps)) {
    top = b;
    under = a;
  }
  child = links[(3 * top)];
  links[((3 * under) + 1)] = child;
  if ((child >= 0)) {
    links[((3 * child) + 2)] = under;
  }
  links[((3 * under) + 2)] = top;
  links[(3 * top)] = under;
  return top;
}

function without(item, top, heaps) {
  let a, b, before, child, following, joined, links, pairs, rest;
  links = heaps.links;
  if ((item !== top)) {
    before = links[((3 * item) + 2)];
    following = links[((3 * item) + 1)];
    if ((links[(3 * before)] === item)) {
      links[(3 * before)] = following;
    } else {
      links[((3 * before) + 1)] = following;
    }
    if ((following >= 0)) {
      links[((3 * following) + 2)] = before;
    }
  }
  pairs = (-1);
  child = links[(3 * item)];
  while ((child >= 0)) {
    a = child;
    b = links[((3 * a) + 1)];
    child = ((b >= 0) ? links[((3 * b) + 1)] : (-1));
    joined = meld(a, b, heaps);
    links[((3 * joined) + 1)] = pairs;
    pairs = joined;
  }
  rest = (-1);
  while ((pairs >= 0)) {
    following = links[((3 * pairs) + 1)];
    links[((3 * pairs) + 1)] = (-1);
    rest = meld(rest, pairs, heaps);
    pairs = following;
  }
  links[(3 * item)] = (-1);
  links[((3 * item) + 1)] = (-1);
  return ((item === top) ? rest : meld(top, rest, heaps));
}

function leave_msr(item, d, facts, heaps, ready) {
  let base, i, top;
  base = ready.base[d];
  i = 0;
  while (((ready.entry[(base + i)] !== item) && !(alike(item, ready.entry[(base + i)], facts)))) {
    i = (i + 1);
  }
  top = without(item, ready.entry[(base + i)], heaps);
  if ((top < 0)) {
    ready.count[d] = (ready.count[d] - 1);
    top = ready.entry[(base + ready.count[d])];
  }
  ready.entry[(base + i)] = top;
}

function awaited(item, by, facts) {
  let i;
  i = (4 * item);
  facts[(i + 2)] = (facts[(i + 2)] + 1);
  facts[(i + 3)] = (((facts[(i + 3)] === -1) || (facts[(i + 3)] === by)) ? by : -2);
}

function enter_msr(item, d, facts, heaps, ready) {
  let base, i;
  base = ready.base[d];
  for (let i_1 = 0, end_1 = ready.count[d]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    if (alike(item, ready.entry[(base + i)], facts)) {
      ready.entry[(base + i)] = meld(ready.entry[(base + i)], item, heaps);
      return;
    }
  }
  ready.entry[(base + ready.count[d])] = item;
  ready.count[d] = (ready.count[d] + 1);
}

function again(item, d, by, facts, heaps, ready) {
  leave_msr(item, d, facts, heaps, ready);
  awaited(item, by, facts);
  enter_msr(item, d, facts, heaps, ready);
}

function last_wait(w, with_sends, ops, pred, copies, facts, heaps, ready) {
  let end, i, inputs, missing, n_ops, same, t, u, x;
  n_ops = ops.device.length;
  missing = ops.missing[w];
  i = pred.ptr[w];
  end = pred.ptr[(w + 1)];
  while ((i < end)) {
    u = pred.producer[pred.edge[i]];
    inputs = 0;
    while (((i < end) && (pred.producer[pred.edge[i]] === u))) {
      t = pred.tensor[pred.edge[i]];
      x = copies.of_edge[pred.edge[i]];
      same = 0;
      while (((i < end) && (pred.tensor[pred.edge[i]] === t))) {
        same = (same + 1);
        i = (i + 1);
      }
      inputs = (inputs + same);
      if ((with_sends && (x >= 0) && (same === missing) && (heaps.since[(n_ops + x)] >= 0))) {
        again((n_ops + x), copies.source[x], ops.device[w], facts, heaps, ready);
      }
    }
    if (((inputs === missing) && (heaps.since[u] >= 0))) {
      again(u, ops.device[u], ops.device[w], facts, heaps, ready);
    }
  }
}

function only_one(w, inputs, missing, producers, static_) {
  return (static_ ? (producers[w] === 1) : (missing[w] === inputs));
}

function begin_waiting(item, d, instant, ops, receivers, static_, consumers, facts, heaps, ready) {
  let end, f, i, inputs, n_ops, w;
  f = (4 * item);
  n_ops = ops.device.length;
  if ((item < n_ops)) {
    for (let i_1 = consumers.ptr[item], end_1 = consumers.ptr[(item + 1)]; i_1 < end_1; i_1 += 1) {
      i = i_1;
      w = consumers.op[i];
      facts[f] = (facts[f] + 1);
      if ((ops.device[w] !== d)) {
        facts[(f + 1)] = (facts[(f + 1)] + 1);
      }
      if (only_one(w, consumers.inputs[i], ops.missing, consumers.producers, static_)) {
        awaited(item, ops.device[w], facts);
      }
    }
  } else {
    i = receivers.ptr[(2 * (item - n_ops))];
    end = receivers.ptr[((2 * (item - n_ops)) + 1)];
    while ((i < end)) {
      w = receivers.op[i];
      inputs = 0;
      while (((i < end) && (receivers.op[i] === w))) {
        inputs = (inputs + 1);
        i = (i + 1);
      }
      facts[f] = (facts[f] + 1);
      facts[(f + 1)] = (facts[(f + 1)] + 1);
      if (only_one(w, inputs, ops.missing, consumers.producers, static_)) {
        awaited(item, ops.device[w], facts);
      }
    }
  }
  heaps.since[item] = instant;
  enter_msr(item, d, facts, heaps, ready);
}

function by_priority(item, instant, rank, classes) {
  let c, number;
  number = rank[item];
  if ((number >= 0)) {
    return $key(number, number);
  }
  c = classes.first[item];
  if ((classes.since[c] !== instant)) {
    classes.since[c] = instant;
    classes.turn[c] = (classes.turn[c] + 1);
  }
  return $key((c + classes.turn[c]), ((-1) - number));
}

function queue_item(item, d, instant, rule, classes, ready) {
  let key;
  key = ((rule.kind === 1) ? $key(instant, rule.rank[item]) : by_priority(item, instant, rule.rank, classes));
  push_key(ready.entry, ready.base[d], ready.count[d], key);
  ready.count[d] = (ready.count[d] + 1);
}

function arrive(w, d, instant, pred, copies, receivers, ops, order) {
  let classes, msr, ready, rule;
  rule = order.rule; classes = order.classes; msr = order.msr; ready = order.ready;
  ops.missing[w] = (ops.missing[w] - 1);
  if ((ops.missing[w] > 0)) {
    if (((rule.kind === 2) && !(msr.weights.static) && (ops.missing[w] <= msr.consumers.most[w]))) {
      last_wait(w, rule.with_sends, ops, pred, copies, msr.facts, msr.heaps, ready);
    }
  } else {
    if ((rule.kind === 2)) {
      begin_waiting(w, d, instant, ops, receivers, msr.weights.static, msr.consumers, msr.facts, msr.heaps, ready);
    } else {
      if (((rule.kind === 0) || (rule.kind === 1))) {
        queue_item(w, d, instant, rule, classes, ready);
      } else {
        if ((rule.kind === 4)) {
          ready.entry[(ready.base[d] + ready.count[d])] = w;
          ready.count[d] = (ready.count[d] + 1);
        }
      }
    }
  }
}

function add_to(work, number) {
  if ((work.flag[number] === 0)) {
    work.flag[number] = 1;
    work.number[work.size[0]] = number;
    work.size[0] = (work.size[0] + 1);
  }
}

function queue_entries_events(pred, copies, receivers, ops, order, devices) {
  let d, v;
  for (let v_1 = 0, end_1 = ops.device.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((ops.missing[v] === 0)) {
      d = ops.device[v];
      ops.missing[v] = 1;
      arrive(v, d, 0, pred, copies, receivers, ops, order);
      add_to(devices.touched, d);
    }
  }
}

function push(time, code, events) {
  events.size[0] = push_event(events.heap, events.size[0], time, code);
}

function wake_at_planned_times(code, not_before, events) {
  let v;
  for (let v_1 = 0, end_1 = not_before.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((not_before[v] > 0.0)) {
      push(not_before[v], (code + v), events);
    }
  }
}

function sort_numbers(work) {
  let i, j, value, values;
  values = work.number;
  for (let i_1 = 1, end_1 = work.size[0]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    value = values[i];
    j = i;
    while (((j > 0) && (values[(j - 1)] > value))) {
      values[j] = values[(j - 1)];
      j = (j - 1);
    }
    values[j] = value;
  }
}

function new_outputs(v, starts, needs, use) {
  let s, t, total;
  if ((use.storage.length === 0)) {
    return needs.outputs[v];
  }
  total = 0.0;
  for (let t_1 = needs.tensor_ptr[v], end_1 = needs.tensor_ptr[(v + 1)]; t_1 < end_1; t_1 += 1) {
    t = t_1;
    s = use.storage[t];
    if (((use.begun[s] === 0) && (use.home[s] > 0))) {
      use.begun[s] = 1;
      use.reads[s] = 1;
      total = (total + use.size[s]);
    }
  }
  for (let t_2 = needs.tensor_ptr[v], end_2 = needs.tensor_ptr[(v + 1)]; t_2 < end_2; t_2 += 1) {
    t = t_2;
    s = use.storage[t];
    if (((use.reads[s] === 1) && !(starts))) {
      use.begun[s] = 0;
    }
    use.reads[s] = 0;
  }
  return total;
}

function freed_storages(v, pred, of_edge, tensor_bytes, use) {
  let e, i, reads, s, t, total, x;
  total = 0.0;
  reads = 0;
  for (let i_1 = pred.ptr[v], end_1 = pred.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[i];
    t = pred.tensor[e];
    x = of_edge[e];
    if ((x >= 0)) {
      reads = (((i > pred.ptr[v]) && (of_edge[pred.edge[(i - 1)]] === x)) ? (reads + 1) : 1);
      if ((use.copy[x] === reads)) {
        total = (total + tensor_bytes[t]);
      }
    } else {
      s = use.storage[t];
      use.reads[s] = (use.reads[s] + 1);
      if ((use.reads[s] === use.home[s])) {
        total = (total + use.size[s]);
      }
    }
  }
  for (let i_2 = pred.ptr[v], end_2 = pred.ptr[(v + 1)]; i_2 < end_2; i_2 += 1) {
    i = i_2;
    if ((of_edge[pred.edge[i]] < 0)) {
      use.reads[use.storage[pred.tensor[pred.edge[i]]]] = 0;
    }
  }
  return total;
}

function freed_inputs(v, pred, of_edge, tensor_bytes, use) {
  let e, i, reads, total, x;
  if ((use.storage.length > 0)) {
    return freed_storages(v, pred, of_edge, tensor_bytes, use);
  }
  total = 0.0;
  reads = 0;
  for (let i_1 = pred.ptr[v], end_1 = pred.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[i];
    reads = (reads + 1);
    if ((((i + 1) < pred.ptr[(v + 1)]) && (pred.tensor[pred.edge[(i + 1)]] === pred.tensor[e]))) {
      continue;
    }
    x = of_edge[e];
    if ((((x >= 0) ? use.copy[x] : use.home[pred.tensor[e]]) === reads)) {
      total = (total + tensor_bytes[pred.tensor[e]]);
    }
    reads = 0;
  }
  return total;
}

function has_room(v, d, pred, of_edge, needs, use) {
  let freed;
  if ((needs.model === 2)) {
    return (((use.bytes[d] + needs.temporary[v]) + new_outputs(v, false, needs, use)) <= needs.limit[d]);
  }
  freed = freed_inputs(v, pred, of_edge, needs.tensor_bytes, use);
  return (((use.bytes[d] - freed) + new_outputs(v, false, needs, use)) <= needs.limit[d]);
}

function fits(v, d, pred, of_edge, memory) {
  return ((memory.needs.model === 0) || has_room(v, d, pred, of_edge, memory.needs, memory.use));
}

function first_that_fits(d, pred, of_edge, n_ops, order, memory) {
  let aside, base, chosen, i, item, key, n_aside, ready;
  ready = order.ready;
  aside = order.aside;
  base = ready.base[d];
  chosen = -1;
  n_aside = 0;
  while ((ready.count[d] > 0)) {
    key = ready.entry[base];
    item = order.rule.item[(key % 4294967296)];
    pop_key(ready.entry, base, ready.count[d]);
    ready.count[d] = (ready.count[d] - 1);
    if (((item >= n_ops) || fits(item, d, pred, of_edge, memory))) {
      chosen = item;
      break;
    }
    aside[n_aside] = key;
    n_aside = (n_aside + 1);
  }
  for (let i_2 = 0, end_2 = n_aside; i_2 < end_2; i_2 += 1) {
    i = i_2;
    push_key(ready.entry, base, ready.count[d], aside[i]);
    ready.count[d] = (ready.count[d] + 1);
  }
  return chosen;
}

function times(weight, count) {
  return ((count > 0) ? (weight * count) : 0.0);
}

function score(item, ops, busy, weights, consumers, facts) {
  let alone, alpha, beta, f, i, w, waking;
  f = (4 * item);
  waking = 0;
  if ((facts[(f + 3)] === -2)) {
    for (let i_1 = consumers.ptr[item], end_1 = consumers.ptr[(item + 1)]; i_1 < end_1; i_1 += 1) {
      i = i_1;
      w = consumers.op[i];
      alone = only_one(w, consumers.inputs[i], ops.missing, consumers.producers, weights.static);
      if (((busy[ops.device[w]] === 0) && alone)) {
        waking = (waking + 1);
      }
    }
  } else {
    if (((facts[(f + 3)] >= 0) && (busy[facts[(f + 3)]] === 0))) {
      waking = facts[(f + 2)];
    }
  }
  alpha = times(weights.alpha, facts[f]);
  beta = times(weights.beta, facts[(f + 1)]);
  return (((alpha + beta) + times(weights.gamma, facts[(f + 2)])) + times(weights.delta, waking));
}

function best_that_fits(d, pred, of_edge, ops, order, busy, memory) {
  let aside, base, best, best_score, chosen, i, item, msr, n_aside, ready, value;
  msr = order.msr;
  ready = order.ready;
  aside = order.aside;
  base = ready.base[d];
  chosen = -1;
  n_aside = 0;
  while ((ready.count[d] > 0)) {
    best = (-1);
    best_score = 0.0;
    for (let i_2 = 0, end_2 = ready.count[d]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      item = ready.entry[(base + i)];
      value = score(item, ops, busy, msr.weights, msr.consumers, msr.facts);
      if (((best < 0) || (value > best_score) || ((value === best_score) && waits_longer(item, best, msr.heaps)))) {
        best = item;
        best_score = value;
      }
    }
    leave_msr(best, d, msr.facts, msr.heaps, ready);
    if (((best >= ops.device.length) || fits(best, d, pred, of_edge, memory))) {
      chosen = best;
      msr.heaps.since[best] = (-1);
      break;
    }
    aside[n_aside] = best;
    n_aside = (n_aside + 1);
  }
  for (let i_3 = 0, end_3 = n_aside; i_3 < end_3; i_3 += 1) {
    i = i_3;
    enter_msr(aside[i], d, msr.facts, msr.heaps, ready);
  }
  return chosen;
}

function next_planned(d, now, pred, of_edge, missing, sequence, memory) {
  let v;
  if ((sequence.next[d] === sequence.ptr[(d + 1)])) {
    return -1;
  }
  v = Math.trunc(sequence.op[sequence.next[d]]);
  if (((sequence.not_before.length > 0) && (now < sequence.not_before[v]))) {
    return -1;
  }
  if (((missing[v] > 0) || !(fits(v, d, pred, of_edge, memory)))) {
    return -1;
  }
  sequence.next[d] = (sequence.next[d] + 1);
  return v;
}

function take_out(v, d, ready) {
  let i;
  i = ready.base[d];
  while ((ready.entry[i] !== v)) {
    i = (i + 1);
  }
  ready.count[d] = (ready.count[d] - 1);
  ready.entry[i] = ready.entry[(ready.base[d] + ready.count[d])];
}

function any_fits(d, pred, of_edge, ready, memory) {
  let i;
  for (let i_1 = ready.base[d], end_1 = (ready.base[d] + ready.count[d]); i_1 < end_1; i_1 += 1) {
    i = i_1;
    if (fits(ready.entry[i], d, pred, of_edge, memory)) {
      return true;
    }
  }
  return false;
}

function choose(d, now, pred, copies, ops, order, busy, memory, answer) {
  let item, kind, sends;
  kind = order.rule.kind;
  sends = order.sends;
  if (((kind === 0) || (kind === 1))) {
    return first_that_fits(d, pred, copies.of_edge, ops.device.length, order, memory);
  }
  if ((kind === 2)) {
    return best_that_fits(d, pred, copies.of_edge, ops, order, busy, memory);
  }
  if ((sends.count[d] > 0)) {
    item = Math.trunc((order.ready.entry[sends.base[d]] % 4294967296));
    pop_key(order.ready.entry, sends.base[d], sends.count[d]);
    sends.count[d] = (sends.count[d] - 1);
    return item;
  }
  if ((kind === 3)) {
    return next_planned(d, now, pred, copies.of_edge, ops.missing, order.sequence, memory);
  }
  if ((answer[0] >= 0)) {
    item = Math.trunc(answer[0]);
    answer[0] = (-1);
    take_out(item, d, order.ready);
    return item;
  }
  return (any_fits(d, pred, copies.of_edge, order.ready, memory) ? -2 : -1);
}

function release_inputs(v, pred, of_edge, tensor_bytes, use) {
  let e, i, left, t, total, x;
  total = 0.0;
  for (let i_1 = pred.ptr[v], end_1 = pred.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[i];
    x = of_edge[e];
    t = pred.tensor[e];
    if ((x >= 0)) {
      use.copy[x] = (use.copy[x] - 1);
      left = use.copy[x];
    } else {
      if ((use.storage.length > 0)) {
        t = use.storage[t];
      }
      use.home[t] = (use.home[t] - 1);
      left = use.home[t];
    }
    if ((left === 0)) {
      total = (total + (((x < 0) && (use.storage.length > 0)) ? use.size[t] : tensor_bytes[t]));
    }
  }
  return total;
}

function take_room(v, d, pred, of_edge, memory) {
  let needs, use;
  needs = memory.needs; use = memory.use;
  if ((needs.model === 1)) {
    use.bytes[d] = (use.bytes[d] - release_inputs(v, pred, of_edge, needs.tensor_bytes, use));
    use.bytes[d] = (use.bytes[d] + new_outputs(v, true, needs, use));
  } else {
    if ((needs.model === 2)) {
      use.bytes[d] = (use.bytes[d] + (needs.temporary[v] + new_outputs(v, true, needs, use)));
    }
  }
}

function start_item(item, d, now, pred, copies, network, ops, memory, busy, events, results) {
  let end, x;
  busy[d] = 1;
  if ((item < ops.device.length)) {
    end = (now + ops.duration[item]);
    results.start[item] = now;
    results.finish[item] = end;
    take_room(item, d, pred, copies.of_edge, memory);
  } else {
    x = (item - ops.device.length);
    end = (now + network.send[d]);
    results.send_start[x] = now;
    results.send_finish[x] = end;
  }
  push(end, item, events);
}

function start_items(now, pred, copies, network, ops, order, memory, devices, events, count, answer, results) {
  let busy, cursor, d, item, touched;
  busy = devices.busy; touched = devices.touched;
  cursor = Math.trunc(count[1]);
  while ((cursor < touched.size[0])) {
    d = Math.trunc(touched.number[cursor]);
    touched.flag[d] = 0;
    if ((busy[d] === 0)) {
      item = choose(d, now, pred, copies, ops, order, busy, memory, answer);
      if ((item === -2)) {
        touched.flag[d] = 1;
        count[1] = cursor;
        return d;
      }
      if ((item !== -1)) {
        start_item(item, d, now, pred, copies, network, ops, memory, busy, events, results);
      }
    }
    cursor = (cursor + 1);
  }
  touched.size[0] = 0;
  count[1] = 0;
  return (-1);
}

function takes_no_time(pair, now, copies, network, memory, queues) {
  let link, x;
  x = Math.trunc(queues.entry[queues.base[pair]]);
  if ((queues.rank.length > 0)) {
    x = Math.trunc(queues.request[(x % 4294967296)]);
  }
  link = ((copies.source[x] * memory.needs.limit.length) + copies.destination[x]);
  return (((now + network.latency[link]) + (memory.needs.tensor_bytes[copies.tensor[x]] / network.bandwidth[link])) === now);
}

function next_pair(now, collecting, copies, network, memory, contention) {
  let best, best_key, blocked, i, k, key, links, pair, pairs, queues;
  links = contention.links; queues = contention.queues; pairs = contention.pairs;
  k = memory.needs.limit.length;
  best = (-1);
  best_key = 0;
  i = 0;
  while ((i < pairs.size[0])) {
    pair = Math.trunc(pairs.number[i]);
    if ((links.contention === 2)) {
      blocked = (links.channel[pair] !== 0);
    } else {
      blocked = ((links.port[Math.floor(pair / k)] > 0.0) || (links.port[(links.in_port + $mod(pair, k))] > 0.0));
    }
    if (((queues.count[pair] === 0) || blocked)) {
      pairs.flag[pair] = 0;
      pairs.size[0] = (pairs.size[0] - 1);
      pairs.number[i] = pairs.number[pairs.size[0]];
      continue;
    }
    i = (i + 1);
    if ((collecting && !(takes_no_time(pair, now, copies, network, memory, queues)))) {
      continue;
    }
    key = queues.entry[queues.base[pair]];
    if (((best < 0) || (key < best_key))) {
      best = pair;
      best_key = key;
    }
    if ((links.contention === 2)) {
      break;
    }
  }
  return best;
}

function take_first(pair, queues) {
  let base, key;
  base = queues.base[pair];
  key = Math.trunc(queues.entry[base]);
  if ((queues.rank.length > 0)) {
    key = Math.trunc(queues.request[(key % 4294967296)]);
    pop_key(queues.entry, base, queues.count[pair]);
  } else {
    queues.base[pair] = (queues.base[pair] + 1);
  }
  queues.count[pair] = (queues.count[pair] - 1);
  return key;
}

function begin_copy(t, d, memory) {
  if ((memory.needs.model === 2)) {
    memory.use.bytes[d] = (memory.use.bytes[d] + memory.needs.tensor_bytes[t]);
  }
}

function start_waiting(now, first, collecting, copies, network, memory, contention, events, results) {
  let d, end, k, links, pair, pairs, queues, s, t, took, x;
  links = contention.links; queues = contention.queues; pairs = contention.pairs;
  k = memory.needs.limit.length;
  while ((pairs.size[0] > 0)) {
    pair = next_pair(now, collecting, copies, network, memory, contention);
    if ((pair < 0)) {
      break;
    }
    x = take_first(pair, queues);
    t = copies.tensor[x];
    s = copies.source[x];
    d = copies.destination[x];
    if ((links.contention === 2)) {
      links.channel[pair] = 1;
    } else {
      links.port[s] = 1.0;
      links.port[(links.in_port + d)] = 1.0;
    }
    took = (memory.needs.tensor_bytes[t] / network.bandwidth[((s * k) + d)]);
    end = ((now + network.latency[((s * k) + d)]) + took);
    results.transfer_start[x] = now;
    results.transfer_finish[x] = end;
    push(end, (first + x), events);
    if ((links.held === 0.0)) {
      push((now + took), ((first + copies.tensor.length) + x), events);
    }
    begin_copy(t, d, memory);
  }
}

function choose_among_all(now, first, copies, network, memory, contention, events, results) {
  start_waiting(now, first, false, copies, network, memory, contention, events, results);
}

function leave_room(v, d, pred, of_edge, memory) {
  let needs, s, t, use;
  needs = memory.needs; use = memory.use;
  if ((needs.model === 2)) {
    use.bytes[d] = (use.bytes[d] - needs.temporary[v]);
    use.bytes[d] = (use.bytes[d] - release_inputs(v, pred, of_edge, needs.tensor_bytes, use));
    for (let t_1 = needs.tensor_ptr[v], end_1 = needs.tensor_ptr[(v + 1)]; t_1 < end_1; t_1 += 1) {
      t = t_1;
      if ((use.storage.length > 0)) {
        s = use.storage[t];
        use.home[s] = (use.home[s] - 1);
        if ((use.home[s] === 0)) {
          use.bytes[d] = (use.bytes[d] - use.size[s]);
        }
      } else {
        if ((use.home[t] === 0)) {
          use.bytes[d] = (use.bytes[d] - needs.tensor_bytes[t]);
        }
      }
    }
  }
}

function queue_send(x, d, instant, receivers, ops, order) {
  let classes, item, msr, ready, rule, sends;
  rule = order.rule; classes = order.classes; msr = order.msr; ready = order.ready; sends = order.sends;
  item = (ops.device.length + x);
  if ((rule.kind === 2)) {
    begin_waiting(item, d, instant, ops, receivers, msr.weights.static, msr.consumers, msr.facts, msr.heaps, ready);
  } else {
    if (((rule.kind === 0) || (rule.kind === 1))) {
      queue_item(item, d, instant, rule, classes, ready);
    } else {
      push_key(ready.entry, sends.base[d], sends.count[d], $key(instant, item));
      sends.count[d] = (sends.count[d] + 1);
    }
  }
}

function end_op(v, instant, pred, copies, receivers, ops, order, memory, devices) {
  let d, i, x;
  d = ops.device[v];
  devices.busy[d] = 0;
  add_to(devices.touched, d);
  for (let i_1 = receivers.local[(2 * v)], end_1 = receivers.local[((2 * v) + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    arrive(receivers.op[i], d, instant, pred, copies, receivers, ops, order);
  }
  leave_room(v, d, pred, copies.of_edge, memory);
  if (order.rule.with_sends) {
    for (let x_2 = copies.ptr[v], end_2 = copies.ptr[(v + 1)]; x_2 < end_2; x_2 += 1) {
      x = x_2;
      queue_send(x, d, instant, receivers, ops, order);
    }
  }
}

function end_copy(t, s, d, memory) {
  let h, needs, use;
  needs = memory.needs; use = memory.use;
  if ((needs.model === 1)) {
    use.bytes[d] = (use.bytes[d] + needs.tensor_bytes[t]);
  }
  h = ((use.storage.length === 0) ? t : use.storage[t]);
  use.home[h] = (use.home[h] - 1);
  if ((use.home[h] === 0)) {
    use.bytes[s] = (use.bytes[s] - ((use.storage.length === 0) ? needs.tensor_bytes[t] : use.size[h]));
  }
}

function free_links(x, s, d, k, contention) {
  let links, pairs, q, queues;
  links = contention.links; queues = contention.queues; pairs = contention.pairs;
  if ((links.contention === 2)) {
    links.channel[queues.of[x]] = 0;
    add_to(pairs, Math.trunc(queues.of[x]));
  } else {
    if ((links.contention === 3)) {
      links.port[s] = 0.0;
      links.port[(links.in_port + d)] = 0.0;
      for (let q_1 = 0, end_1 = k; q_1 < end_1; q_1 += 1) {
        q = q_1;
        add_to(pairs, ((s * k) + q));
        add_to(pairs, ((q * k) + d));
        if ((links.in_port === 0)) {
          add_to(pairs, ((d * k) + q));
          add_to(pairs, ((q * k) + s));
        }
      }
    }
  }
}

function end_transfer(x, instant, pred, copies, receivers, ops, order, memory, contention, devices) {
  let d, i, s;
  s = copies.source[x];
  d = copies.destination[x];
  for (let i_1 = receivers.ptr[(2 * x)], end_1 = receivers.ptr[((2 * x) + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    arrive(receivers.op[i], d, instant, pred, copies, receivers, ops, order);
  }
  add_to(devices.touched, d);
  if ((memory.needs.model !== 0)) {
    end_copy(copies.tensor[x], s, d, memory);
    add_to(devices.touched, s);
  }
  if ((contention.links.held !== 0.0)) {
    free_links(x, s, d, devices.busy.length, contention);
  }
}

function mark(c, bandwidth, flows, shared) {
  flows.stale[c] = 1;
  flows.number[1] = 1;
  if ((flows.count[c] > 0)) {
    shared.own[c] = (bandwidth[c] / flows.count[c]);
  }
  if ((shared.ptr[(c + 1)] > shared.ptr[c])) {
    flows.number[2] = 1;
  } else {
    shared.rate[c] = shared.own[c];
  }
}

function end_flows(now, first, after, network, flows, shared, events, results) {
  let base, c, end, i, j, kept, x;
  if ((flows.next[0] <= now)) {
    flows.next[0] = (-1.0);
  }
  kept = 0;
  for (let i_1 = 0, end_1 = flows.number[0]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    c = flows.active[i];
    if ((flows.due[c] <= now)) {
      base = flows.base[c];
      flows.served[c] = flows.entry[(2 * base)];
      flows.since[c] = now;
      flows.due[c] = Infinity;
      while (((flows.count[c] > 0) && (flows.entry[(2 * base)] <= flows.served[c]))) {
        x = Math.trunc(flows.entry[((2 * base) + 1)]);
        pop_entry(flows.entry, base, flows.count[c]);
        flows.count[c] = (flows.count[c] - 1);
        for (let j_3 = shared.ptr[c], end_3 = shared.ptr[(c + 1)]; j_3 < end_3; j_3 += 1) {
          j = j_3;
          shared.flows[shared.link[j]] = (shared.flows[shared.link[j]] - 1);
        }
        end = (now + (after * network.latency[c]));
        results.transfer_finish[x] = end;
        events.size[0] = push_event(events.heap, events.size[0], end, (first + x));
      }
      mark(c, network.bandwidth, flows, shared);
    }
    if ((flows.count[c] > 0)) {
      flows.active[kept] = c;
      kept = (kept + 1);
    } else {
      flows.stale[c] = 0;
    }
  }
  flows.number[0] = kept;
}

function serve(c, now, flows) {
  if ((now > flows.since[c])) {
    flows.served[c] = (flows.served[c] + (flows.rate[c] * (now - flows.since[c])));
    flows.since[c] = now;
  }
}

function begin_flow(x, c, now, size, bandwidth, flows, shared) {
  let i, j;
  if ((flows.count[c] === 0)) {
    i = flows.number[0];
    while (((i > 0) && (flows.active[(i - 1)] > c))) {
      flows.active[i] = flows.active[(i - 1)];
      i = (i - 1);
    }
    flows.active[i] = c;
    flows.number[0] = (flows.number[0] + 1);
    flows.served[c] = 0.0;
    flows.since[c] = now;
    flows.rate[c] = 0.0;
  }
  serve(c, now, flows);
  push_entry(flows.entry, flows.base[c], flows.count[c], (flows.served[c] + size), x);
  flows.count[c] = (flows.count[c] + 1);
  for (let j_2 = shared.ptr[c], end_2 = shared.ptr[(c + 1)]; j_2 < end_2; j_2 += 1) {
    j = j_2;
    shared.flows[shared.link[j]] = (shared.flows[shared.link[j]] + 1);
  }
  mark(c, bandwidth, flows, shared);
}

function move_bytes(x, pair, now, first, copies, network, memory, links, events, results) {
  let alone, end, size;
  size = memory.needs.tensor_bytes[copies.tensor[x]];
  alone = (links.shared.ptr[(pair + 1)] === links.shared.ptr[pair]);
  if (((size === 0.0) || (alone && (network.bandwidth[pair] === Infinity)))) {
    end = (now + ((1.0 - links.held) * network.latency[pair]));
    results.transfer_finish[x] = end;
    push(end, (first + x), events);
  } else {
    begin_flow(x, pair, now, size, network.bandwidth, links.flows, links.shared);
  }
}

function request_transfer(x, now, first, copies, network, memory, contention, events, results) {
  let begin, d, end, free, links, number, pair, pairs, queue, queues, s, t, took;
  links = contention.links; queues = contention.queues; pairs = contention.pairs;
  t = copies.tensor[x];
  s = copies.source[x];
  d = copies.destination[x];
  pair = ((s * memory.needs.limit.length) + d);
  if (((links.contention === 0) || (links.contention === 1))) {
    begin = now;
    if ((links.contention === 1)) {
      if ((links.port[s] > begin)) {
        begin = links.port[s];
      }
      if ((links.port[(links.in_port + d)] > begin)) {
        begin = links.port[(links.in_port + d)];
      }
    }
    took = (memory.needs.tensor_bytes[t] / network.bandwidth[pair]);
    end = ((begin + network.latency[pair]) + took);
    results.transfer_start[x] = begin;
    results.transfer_finish[x] = end;
    if ((links.contention === 1)) {
      free = ((begin + (links.held * network.latency[pair])) + took);
      links.port[s] = free;
      links.port[(links.in_port + d)] = free;
    }
    push(end, (first + x), events);
    if (((memory.needs.model === 2) && (begin > now))) {
      push(begin, ((first + copies.tensor.length) + x), events);
    } else {
      begin_copy(t, d, memory);
    }
    return;
  }
  if ((links.contention === 4)) {
    results.transfer_start[x] = now;
    begin_copy(t, d, memory);
    begin = (now + (links.held * network.latency[pair]));
    if ((begin > now)) {
      push(begin, ((first + copies.tensor.length) + x), events);
    } else {
      move_bytes(x, pair, now, first, copies, network, memory, links, events, results);
    }
    return;
  }
  queue = Math.trunc(queues.of[x]);
  if ((queues.rank.length > 0)) {
    number = queues.n_requests[0];
    queues.request[number] = x;
    queues.n_requests[0] = (number + 1);
    push_key(queues.entry, queues.base[queue], queues.count[queue], $key(queues.rank[x], number));
  } else {
    queues.entry[(queues.base[queue] + queues.count[queue])] = x;
  }
  queues.count[queue] = (queues.count[queue] + 1);
  add_to(pairs, queue);
}

function complete(now, first, pred, copies, receivers, network, ops, order, memory, contention, devices, events, count, results) {
  let code, high, instant, links, low, n, n_transfers, pair, x;
  n = ops.device.length;
  n_transfers = copies.tensor.length;
  instant = count[0];
  while (((events.size[0] > 0) && (events.heap[0] === now))) {
    code = Math.trunc(events.heap[1]);
    events.size[0] = pop_event(events.heap, events.size[0]);
    low = 0;
    high = 0;
    if ((code < n)) {
      end_op(code, instant, pred, copies, receivers, ops, order, memory, devices);
      count[2] = (count[2] + 1);
      if (!(order.rule.with_sends)) {
        low = Math.trunc(copies.ptr[code]);
        high = Math.trunc(copies.ptr[(code + 1)]);
      }
    } else {
      if ((code < first)) {
        low = (code - n);
        high = (low + 1);
        devices.busy[copies.source[low]] = 0;
        add_to(devices.touched, copies.source[low]);
      } else {
        if ((code < (first + n_transfers))) {
          end_transfer((code - first), instant, pred, copies, receivers, ops, order, memory, contention, devices);
        } else {
          if ((code === ((first + (2 * n_transfers)) + n))) {
            links = contention.links;
            end_flows(now, first, (1.0 - links.held), network, links.flows, links.shared, events, results);
          } else {
            if ((code >= (first + (2 * n_transfers)))) {
              add_to(devices.touched, ops.device[((code - first) - (2 * n_transfers))]);
            } else {
              x = ((code - first) - n_transfers);
              if ((contention.links.contention === 4)) {
                pair = ((copies.source[x] * devices.busy.length) + copies.destination[x]);
                move_bytes(x, pair, now, first, copies, network, memory, contention.links, events, results);
              } else {
                if ((contention.links.contention === 1)) {
                  begin_copy(copies.tensor[x], copies.destination[x], memory);
                } else {
                  free_links(x, copies.source[x], copies.destination[x], devices.busy.length, contention);
                }
              }
            }
          }
        }
      }
    }
    for (let x_2 = low, end_2 = high; x_2 < end_2; x_2 += 1) {
      x = x_2;
      request_transfer(x, now, first, copies, network, memory, contention, events, results);
    }
  }
}

function settle_links(c, rate, flows, shared) {
  let j, l;
  shared.rate[c] = rate;
  for (let j_1 = shared.ptr[c], end_1 = shared.ptr[(c + 1)]; j_1 < end_1; j_1 += 1) {
    j = j_1;
    l = shared.link[j];
    shared.left[l] = (shared.left[l] - (rate * flows.count[c]));
    shared.users[l] = (shared.users[l] - flows.count[c]);
    shared.share[l] = (-1.0);
  }
}

function fill(flows, shared) {
  let c, full, i, l, least, level, narrowest, waiting;
  for (let l_1 = 0, end_1 = shared.capacity.length; l_1 < end_1; l_1 += 1) {
    l = l_1;
    shared.left[l] = shared.capacity[l];
    shared.users[l] = shared.flows[l];
    shared.share[l] = (-1.0);
  }
  waiting = 0;
  narrowest = Infinity;
  for (let i_2 = 0, end_2 = flows.number[0]; i_2 < end_2; i_2 += 1) {
    i = i_2;
    c = flows.active[i];
    if ((shared.ptr[(c + 1)] > shared.ptr[c])) {
      shared.rate[c] = (-1.0);
      waiting = (waiting + 1);
      narrowest = $min(narrowest, shared.own[c]);
    }
  }
  level = 0.0;
  while ((waiting > 0)) {
    full = (-1);
    least = Infinity;
    for (let l_4 = 0, end_4 = shared.capacity.length; l_4 < end_4; l_4 += 1) {
      l = l_4;
      if ((shared.share[l] < 0.0)) {
        shared.share[l] = ((shared.users[l] > 0) ? $max((shared.left[l] / shared.users[l]), level) : Infinity);
      }
      if ((shared.share[l] < least)) {
        full = l;
        least = shared.share[l];
      }
    }
    level = least;
    if ((narrowest <= level)) {
      narrowest = Infinity;
      for (let i_5 = 0, end_5 = flows.number[0]; i_5 < end_5; i_5 += 1) {
        i = i_5;
        c = flows.active[i];
        if (((shared.rate[c] < 0.0) && (shared.ptr[(c + 1)] > shared.ptr[c]))) {
          if ((shared.own[c] <= level)) {
            settle_links(c, shared.own[c], flows, shared);
            waiting = (waiting - 1);
          } else {
            narrowest = $min(narrowest, shared.own[c]);
          }
        }
      }
    } else {
      for (let i_6 = shared.first[full], end_6 = shared.first[(full + 1)]; i_6 < end_6; i_6 += 1) {
        i = i_6;
        c = shared.pair[i];
        if (((shared.rate[c] < 0.0) && (flows.count[c] > 0))) {
          settle_links(c, level, flows, shared);
          waiting = (waiting - 1);
        }
      }
    }
  }
}

function share_links(now, wake, flows, shared, events) {
  let c, following, i, left, rate;
  if ((flows.number[1] === 0)) {
    return;
  }
  if ((flows.number[2] !== 0)) {
    fill(flows, shared);
  }
  following = Infinity;
  for (let i_1 = 0, end_1 = flows.number[0]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    c = flows.active[i];
    rate = shared.rate[c];
    if (((flows.stale[c] !== 0) || (rate !== flows.rate[c]))) {
      serve(c, now, flows);
      flows.rate[c] = rate;
      left = $max((flows.entry[(2 * flows.base[c])] - flows.served[c]), 0.0);
      flows.due[c] = (now + (left / rate));
      flows.stale[c] = 0;
    }
    if ((flows.due[c] < following)) {
      following = flows.due[c];
    }
  }
  flows.number[1] = 0;
  flows.number[2] = 0;
  if (((flows.number[0] > 0) && (following !== flows.next[0]))) {
    flows.next[0] = following;
    events.size[0] = push_event(events.heap, events.size[0], following, wake);
  }
}

function one_run(ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results) {
  let asking, by_device, collecting, count, first, links, now, wake;
  count = clock.count;
  links = contention.links;
  now = clock.now[0];
  first = (ops.device.length + copies.tensor.length);
  wake = ((first + (2 * copies.tensor.length)) + ops.device.length);
  by_device = ((order.rule.kind === 2) || (order.rule.kind === 4));
  if ((count[3] === 0)) {
    count[3] = 1;
    if ((links.contention === 4)) {
      empty_flows(copies, devices.busy.length, links.flows, links.shared);
    }
    queue_entries_events(pred, copies, receivers, ops, order, devices);
    wake_at_planned_times((first + (2 * copies.tensor.length)), order.sequence.not_before, events);
    if (by_device) {
      sort_numbers(devices.touched);
    }
  }
  collecting = (contention.queues.rank.length > 0);
  while (true) {
    asking = start_items(now, pred, copies, network, ops, order, memory, devices, events, count, answer, results);
    clock.now[0] = now;
    if ((asking >= 0)) {
      return asking;
    }
    if ((collecting && ((events.size[0] === 0) || (events.heap[0] !== now)))) {
      choose_among_all(now, first, copies, network, memory, contention, events, results);
    }
    if ((events.size[0] === 0)) {
      return (-1);
    }
    if ((events.heap[0] !== now)) {
      now = events.heap[0];
      count[0] = (count[0] + 1);
    }
    while (((events.size[0] > 0) && (events.heap[0] === now))) {
      complete(now, first, pred, copies, receivers, network, ops, order, memory, contention, devices, events, count, results);
      start_waiting(now, first, collecting, copies, network, memory, contention, events, results);
      if ((links.contention === 4)) {
        share_links(now, wake, links.flows, links.shared, events);
      }
    }
    if (by_device) {
      sort_numbers(devices.touched);
    }
  }
}

function last_finish(finish, n_done) {
  let last, v;
  if ((n_done < finish.length)) {
    return NaN;
  }
  last = 0.0;
  for (let v_1 = 0, end_1 = finish.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((finish[v] > last)) {
      last = finish[v];
    }
  }
  return last;
}

function keep_row(b, values, rows) {
  let begin, i;
  if ((rows.length > 0)) {
    begin = (b * values.length);
    for (let i_1 = 0, end_1 = values.length; i_1 < end_1; i_1 += 1) {
      i = i_1;
      rows[(begin + i)] = values[i];
    }
  }
}

function run_events(ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results, batch) {
  let asking, b, n_runs;
  n_runs = batch.makespan.length;
  asking = (-1);
  for (let b_1 = 0, end_1 = $max(n_runs, 1); b_1 < end_1; b_1 += 1) {
    b = b_1;
    if ((n_runs > 0)) {
      begin_run(b, ops, pred, copies, receivers, network, order, memory.needs, contention, devices, events, clock, batch);
    }
    asking = one_run(ops, pred, copies, receivers, network, order, memory, contention, devices, events, clock, answer, results);
    if ((n_runs > 0)) {
      batch.makespan[b] = last_finish(results.finish, clock.count[2]);
      keep_row(b, results.start, batch.results.start);
      keep_row(b, results.finish, batch.results.finish);
      keep_row(b, results.send_start, batch.results.send_start);
      keep_row(b, results.send_finish, batch.results.send_finish);
      keep_row(b, results.transfer_start, batch.results.transfer_start);
      keep_row(b, results.transfer_finish, batch.results.transfer_finish);
    }
  }
  return asking;
}

function link_items(items, last, before) {
  let by_start, finish, i, j, place, previous, start;
  start = items.start; finish = items.finish; place = items.device; by_start = items.by_start;
  for (let j_1 = 0, end_1 = by_start.length; j_1 < end_1; j_1 += 1) {
    j = j_1;
    i = by_start[j];
    previous = last[place[i]];
    if (((previous >= 0) && (start[previous] === start[i]) && (finish[i] === start[i]) && (finish[previous] > start[i]))) {
      before[i] = before[previous];
      before[previous] = i;
    } else {
      before[i] = previous;
      last[place[i]] = i;
    }
  }
}

function last_input(v, items, pred, carried) {
  let arrived, e, i, latest, time, x;
  latest = (-1);
  arrived = 0.0;
  for (let i_1 = pred.ptr[v], end_1 = pred.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    e = pred.edge[i];
    x = carried.carrier[e];
    time = ((x < 0) ? items.finish[pred.producer[e]] : carried.finish[x]);
    if (((latest < 0) || (time > arrived))) {
      latest = e;
      arrived = time;
    }
  }
  return latest;
}

function holder(x, until, moved) {
  let a, b, by_free, first, found, high, last, low, middle, shares, y;
  first = moved.first;
  last = moved.last;
  by_free = moved.by_free;
  low = 0;
  high = by_free.length;
  while ((low < high)) {
    middle = Math.floor((low + high) / 2);
    if ((moved.free[by_free[middle]] < until)) {
      low = (middle + 1);
    } else {
      high = middle;
    }
  }
  found = (-1);
  while (((low < by_free.length) && (moved.free[by_free[low]] === until))) {
    y = by_free[low];
    low = (low + 1);
    a = first[x];
    b = last[x];
    shares = ((first[y] === a) || (first[y] === b) || (last[y] === a) || (last[y] === b));
    if ((shares && (y !== x) && (moved.start[y] < until) && ((found < 0) || (y < found)))) {
      found = y;
    }
  }
  return found;
}

function walk_back(v, stamp, items, pred, carried, moved, walk, steps) {
  let began, begin, by, cause, edge, end, finish, free, hurdle, item, kind, known, label, mark, n, n_items, n_ops, need, reason, row, start, there, time, waiting, what, x;
  n_ops = items.n_ops;
  n_items = items.start.length;
  start = items.start;
  finish = items.finish;
  kind = steps.kind; row = steps.row; cause = steps.cause; by = steps.by; begin = steps.begin; end = steps.end;
  what = 0;
  waiting = v;
  time = finish[v];
  label = 0;
  reason = 0;
  n = 0;
  while (true) {
    item = ((what === 0) ? v : (n_ops + v));
    mark = ((what !== 1) ? item : (n_items + v));
    walk.visited[mark] = stamp;
    began = ((what === 1) ? moved.start[v] : start[item]);
    kind[n] = label;
    row[n] = ((label === 2) ? waiting : v);
    cause[n] = reason;
    by[n] = v;
    begin[n] = began;
    end[n] = time;
    n = (n + 1);
    time = began;
    if ((time <= 0.0)) {
      break;
    }
    edge = (-1);
    x = (-1);
    if ((what === 0)) {
      waiting = v;
      edge = last_input(v, items, pred, carried);
      need = (-1);
      there = 0.0;
      if ((edge >= 0)) {
        x = carried.carrier[edge];
        need = pred.producer[edge];
        there = ((x < 0) ? finish[need] : carried.finish[x]);
      }
    } else {
      need = (((what === 1) && (n_items > n_ops)) ? (n_ops + v) : (-1));
      if ((need < 0)) {
        need = moved.made_by[v];
      }
      there = finish[need];
    }
    hurdle = (-1);
    free = 0.0;
    if ((there < time)) {
      if ((what !== 1)) {
        hurdle = walk.before[item];
        if ((hurdle >= 0)) {
          free = finish[hurdle];
        }
      } else {
        hurdle = holder(v, time, moved);
        if ((hurdle >= 0)) {
          free = time;
        }
      }
      known = $max(there, free);
      if ((known < time)) {
        kind[n] = 2;
        row[n] = waiting;
        cause[n] = 0;
        by[n] = (-1);
        begin[n] = known;
        end[n] = time;
        n = (n + 1);
        time = known;
        if ((time <= 0.0)) {
          break;
        }
      }
    }
    if ((there >= time)) {
      label = 0;
      reason = 0;
      if (((what === 0) && (x >= 0))) {
        what = 1;
        v = x;
        label = 1;
      } else {
        if ((need >= n_ops)) {
          what = 2;
          label = 1;
          reason = 2;
        } else {
          what = 0;
          v = need;
        }
      }
    } else {
      label = 2;
      if ((what === 1)) {
        reason = 3;
        v = hurdle;
      } else {
        if ((hurdle >= n_ops)) {
          reason = 2;
          what = 2;
          v = (hurdle - n_ops);
        } else {
          reason = 1;
          what = 0;
          v = hurdle;
        }
      }
    }
    mark = ((what === 1) ? (n_items + v) : ((what === 0) ? v : (n_ops + v)));
    if ((walk.visited[mark] === stamp)) {
      kind[n] = 2;
      row[n] = waiting;
      cause[n] = 0;
      by[n] = (-1);
      begin[n] = 0.0;
      end[n] = time;
      return (n + 1);
    }
  }
  return n;
}

function arrival(e, items, pred, carried) {
  let x;
  x = carried.carrier[e];
  return ((x < 0) ? items.finish[pred.producer[e]] : carried.finish[x]);
}

function find_waiting(items, pred, carried, work) {
  let by_start, d, edge, first, i, j, n_ops, place, ready, u, waiting;
  n_ops = items.n_ops; place = items.device; by_start = items.by_start;
  ready = work.ready; first = work.first; waiting = work.waiting;
  for (let j_1 = (by_start.length - 1), end_1 = (-1); j_1 > end_1; j_1 += -1) {
    j = j_1;
    i = by_start[j];
    d = place[i];
    if ((i < n_ops)) {
      edge = last_input(i, items, pred, carried);
      ready[i] = ((edge < 0) ? 0.0 : arrival(edge, items, pred, carried));
      u = first[d];
      if (((u < 0) || (ready[i] < ready[u]) || ((ready[i] === ready[u]) && (i < u)))) {
        first[d] = i;
      }
    }
    waiting[j] = first[d];
  }
}

function last_awaited(j, d, items, pred, carried) {
  let awaited, by_start, came, edge, i, latest, n_ops, now, place, reader, start;
  n_ops = items.n_ops; start = items.start; place = items.device; by_start = items.by_start;
  now = start[by_start[j]];
  awaited = (-1);
  reader = (-1);
  latest = (-1.0);
  while (((j < by_start.length) && (start[by_start[j]] === now))) {
    i = by_start[j];
    j = (j + 1);
    if (((i >= n_ops) || (place[i] !== d))) {
      continue;
    }
    if ((reader < 0)) {
      reader = i;
    }
    edge = last_input(i, items, pred, carried);
    if ((edge >= 0)) {
      came = arrival(edge, items, pred, carried);
      if (((came > latest) && (came <= now))) {
        latest = came;
        awaited = edge;
        reader = i;
      }
    }
  }
  return [awaited, reader];
}

function add_gap(n, d, a, b, why, what, following, gaps) {
  if ((b > a)) {
    gaps.device[n] = d;
    gaps.begin[n] = a;
    gaps.end[n] = b;
    gaps.reason[n] = why;
    gaps.op[n] = what;
    gaps.next[n] = following;
    n = (n + 1);
  }
  return n;
}

function idle_gaps(makespan, items, pred, carried, work, gaps) {
  let at, by_start, came, d, edge, finish, first, free, i, j, made, n, place, reader, ready, start, u, until, w, waiting;
  start = items.start; finish = items.finish; place = items.device; by_start = items.by_start;
  free = work.free; ready = work.ready; first = work.first; waiting = work.waiting;
  find_waiting(items, pred, carried, work);
  n = 0;
  for (let j_1 = 0, end_1 = by_start.length; j_1 < end_1; j_1 += 1) {
    j = j_1;
    i = by_start[j];
    d = place[i];
    if ((start[i] > free[d])) {
      at = free[d];
      w = waiting[j];
      until = ((w < 0) ? start[i] : $min($max(ready[w], at), start[i]));
      [edge, reader] = last_awaited(j, d, items, pred, carried);
      if ((edge >= 0)) {
        u = pred.producer[edge];
        made = $min(finish[u], until);
        n = add_gap(n, d, at, made, 1, u, reader, gaps);
        at = $max(at, made);
        came = $min(arrival(edge, items, pred, carried), until);
        n = add_gap(n, d, at, came, 0, u, reader, gaps);
        at = $max(at, came);
      }
      n = add_gap(n, d, at, start[i], 4, w, reader, gaps);
    }
    if ((finish[i] > free[d])) {
      free[d] = finish[i];
    }
  }
  for (let d_2 = 0, end_2 = free.length; d_2 < end_2; d_2 += 1) {
    d = d_2;
    n = add_gap(n, d, free[d], makespan, ((first[d] < 0) ? 5 : 3), (-1), (-1), gaps);
  }
  return n;
}

function put_change(count, device, time, size, changes) {
  changes.device[count] = device;
  changes.time[count] = time;
  changes.bytes[count] = size;
  return (count + 1);
}

function memory_changes(run, tensors, moves, to_finish, work, changes) {
  let arrives, at_finish, at_start, begins, count, e, ends, first, last, last_use, made, s, sent, size, t, u, until, used, v, x;
  at_start = work.at_start; at_finish = work.at_finish; last_use = work.last_use; sent = work.sent; first = work.first; until = work.until; last = work.last;
  [made, used] = (to_finish ? [at_start, at_finish] : [at_finish, at_start]);
  [begins, ends] = (to_finish ? [run.start, run.finish] : [run.finish, run.start]);
  for (let v_1 = 0, end_1 = run.device.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((run.finish[v] > run.start[v])) {
      at_start[v] = (at_start[v] + run.temporary[v]);
      at_finish[v] = (at_finish[v] - run.temporary[v]);
    }
  }
  for (let x_2 = 0, end_2 = moves.tensor.length; x_2 < end_2; x_2 += 1) {
    x = x_2;
    s = tensors.storage[moves.tensor[x]];
    sent[s] = $max(sent[s], moves.finish[x]);
  }
  for (let t_3 = 0, end_3 = tensors.producer.length; t_3 < end_3; t_3 += 1) {
    t = t_3;
    v = tensors.producer[t];
    s = tensors.storage[t];
    if (((first[s] < 0) || (begins[v] < begins[first[s]]))) {
      first[s] = v;
    }
    if ((to_finish && (run.finish[v] > until[s]))) {
      until[s] = run.finish[v];
      last[s] = v;
    }
    for (let e_4 = tensors.ptr[t], end_4 = tensors.ptr[(t + 1)]; e_4 < end_4; e_4 += 1) {
      e = e_4;
      u = tensors.consumer[e];
      x = tensors.carrier[e];
      if ((x >= 0)) {
        if (((last_use[x] < 0) || (ends[u] > ends[last_use[x]]))) {
          last_use[x] = u;
        }
      } else {
        if ((ends[u] > until[s])) {
          until[s] = ends[u];
          last[s] = u;
        }
      }
    }
  }
  count = 0;
  for (let s_5 = 0, end_5 = first.length; s_5 < end_5; s_5 += 1) {
    s = s_5;
    v = first[s];
    size = tensors.held[s];
    if (((v >= 0) && (size > 0.0) && ($max(until[s], sent[s]) > begins[v]))) {
      made[v] = (made[v] + size);
      if ((sent[s] > until[s])) {
        count = put_change(count, run.device[v], sent[s], (-size), changes);
      } else {
        used[last[s]] = (used[last[s]] - size);
      }
    }
  }
  for (let x_6 = 0, end_6 = moves.tensor.length; x_6 < end_6; x_6 += 1) {
    x = x_6;
    size = tensors.bytes[moves.tensor[x]];
    arrives = (to_finish ? moves.start[x] : moves.finish[x]);
    if (((last_use[x] >= 0) && (ends[last_use[x]] > arrives) && (size > 0.0))) {
      count = put_change(count, moves.destination[x], arrives, size, changes);
      used[last_use[x]] = (used[last_use[x]] - size);
    }
  }
  for (let v_7 = 0, end_7 = run.device.length; v_7 < end_7; v_7 += 1) {
    v = v_7;
    if ((at_start[v] !== 0.0)) {
      count = put_change(count, run.device[v], run.start[v], at_start[v], changes);
    }
    if ((at_finish[v] !== 0.0)) {
      count = put_change(count, run.device[v], run.finish[v], at_finish[v], changes);
    }
  }
  return count;
}

function memory_levels(order, changes, level, last, time, size) {
  let c, d, i;
  for (let d_1 = 0, end_1 = level.length; d_1 < end_1; d_1 += 1) {
    d = d_1;
    time[last[d]] = 0.0;
    size[last[d]] = level[d];
  }
  for (let i_2 = 0, end_2 = order.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    c = order[i];
    d = changes.device[c];
    level[d] = (level[d] + changes.bytes[c]);
    if ((changes.time[c] > time[last[d]])) {
      last[d] = (last[d] + 1);
      time[last[d]] = changes.time[c];
    }
    size[last[d]] = $max(level[d], 0.0);
  }
}

function mark_before_and_behind(order, home, block, succ_ptr, succ, lane, before, behind) {
  let d, i, j, n, v, w;
  n = order.length;
  for (let i_1 = 0, end_1 = n; i_1 < end_1; i_1 += 1) {
    i = i_1;
    v = order[i];
    d = home[v];
    if ((d >= 0)) {
      if ((lane[d] !== 0)) {
        behind[v] = 1;
      } else {
        if ((behind[v] !== 0)) {
          lane[d] = 1;
        }
      }
    }
    if (((block[v] !== 0) || (behind[v] !== 0))) {
      for (let j_2 = succ_ptr[v], end_2 = succ_ptr[(v + 1)]; j_2 < end_2; j_2 += 1) {
        j = j_2;
        behind[succ[j]] = 1;
      }
    }
  }
  for (let d_3 = 0, end_3 = lane.length; d_3 < end_3; d_3 += 1) {
    d = d_3;
    lane[d] = 0;
  }
  for (let i_4 = (n - 1), end_4 = (-1); i_4 > end_4; i_4 += -1) {
    i = i_4;
    v = order[i];
    d = home[v];
    for (let j_5 = succ_ptr[v], end_5 = succ_ptr[(v + 1)]; j_5 < end_5; j_5 += 1) {
      j = j_5;
      w = succ[j];
      if (((block[w] !== 0) || (before[w] !== 0))) {
        before[v] = 1;
      }
    }
    if ((d >= 0)) {
      if ((lane[d] !== 0)) {
        before[v] = 1;
      } else {
        if ((before[v] !== 0)) {
          lane[d] = 1;
        }
      }
    }
  }
}

function order_all(follows, waits, succ_ptr, succ, rank, ranked, heap, order) {
  let count, j, size, v, w;
  size = 0;
  for (let v_1 = 0, end_1 = waits.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    if ((waits[v] === 0)) {
      push_key(heap, 0, size, rank[v]);
      size = (size + 1);
    }
  }
  count = 0;
  while ((size > 0)) {
    v = ranked[heap[0]];
    pop_key(heap, 0, size);
    size = (size - 1);
    order[count] = v;
    count = (count + 1);
    for (let j_3 = succ_ptr[v], end_3 = succ_ptr[(v + 1)]; j_3 < end_3; j_3 += 1) {
      j = j_3;
      w = succ[j];
      waits[w] = (waits[w] - 1);
      if ((waits[w] === 0)) {
        push_key(heap, 0, size, rank[w]);
        size = (size + 1);
      }
    }
    w = follows[v];
    if ((w >= 0)) {
      waits[w] = (waits[w] - 1);
      if ((waits[w] === 0)) {
        push_key(heap, 0, size, rank[w]);
        size = (size + 1);
      }
    }
  }
  return count;
}

function force(v, t, time, inputs, forced, head) {
  let beyond, change, count, i, latest, refused, size, u, w;
  count = 0;
  size = 0;
  change = Infinity;
  refused = 0.0;
  u = v;
  latest = t;
  while (true) {
    for (let i_2 = inputs.ptr[u], end_2 = inputs.ptr[(u + 1)]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      w = inputs.op[i];
      beyond = (((head[w] + time[w]) + inputs.cost[i]) - latest);
      if ((beyond > (t * 1e-12))) {
        change = $min(change, beyond);
        if ((forced.due[w] >= 0.0)) {
          forced.due[w] = $min(forced.due[w], latest);
        } else {
          if (((count + size) < forced.op.length)) {
            size = push_event(forced.queue, size, (-Number(w)), Number(w));
            forced.due[w] = latest;
          }
        }
      }
    }
    if ((size === 0)) {
      break;
    }
    u = Math.trunc(forced.queue[1]);
    size = pop_event(forced.queue, size);
    forced.op[count] = u;
    forced.until[count] = forced.due[u];
    count = (count + 1);
    latest = (forced.due[u] - time[u]);
    if (((head[u] - latest) > (t * 1e-12))) {
      refused = $min((head[u] - latest), change);
      break;
    }
    latest = $max(latest, 0.0);
  }
  for (let i_3 = 0, end_3 = count; i_3 < end_3; i_3 += 1) {
    i = i_3;
    forced.due[forced.op[i]] = (-1.0);
  }
  for (let i_4 = 0, end_4 = size; i_4 < end_4; i_4 += 1) {
    i = i_4;
    forced.due[Math.trunc(forced.queue[((2 * i) + 1)])] = (-1.0);
  }
  return [count, ((refused > 0.0) ? (-refused) : change)];
}

function lateness(count, time, forced, head) {
  let i, now, ready, released, worst;
  released = 0;
  for (let i_1 = 0, end_1 = count; i_1 < end_1; i_1 += 1) {
    i = i_1;
    released = push_event(forced.queue, released, head[forced.op[i]], Number(i));
    forced.left[i] = time[forced.op[i]];
  }
  ready = 0;
  now = 0.0;
  worst = (-Infinity);
  while (((released > 0) || (ready > 0))) {
    if ((ready === 0)) {
      now = $max(now, forced.queue[0]);
    }
    while (((released > 0) && (forced.queue[0] <= now))) {
      i = Math.trunc(forced.queue[1]);
      released = pop_event(forced.queue, released);
      ready = push_event(forced.ready, ready, forced.until[i], Number(i));
    }
    i = Math.trunc(forced.ready[1]);
    if (((released > 0) && ((now + forced.left[i]) > forced.queue[0]))) {
      forced.left[i] = (forced.left[i] - (forced.queue[0] - now));
      now = forced.queue[0];
    } else {
      now = (now + forced.left[i]);
      worst = $max(worst, (now - forced.until[i]));
      ready = pop_event(forced.ready, ready);
    }
  }
  return worst;
}

function delay(v, t, time, inputs, forced, head) {
  let count, late, more;
  [count, more] = force(v, t, time, inputs, forced, head);
  if ((more < 0.0)) {
    return (-more);
  }
  late = lateness(count, time, forced, head);
  return ((late > (t * 1e-12)) ? $min(late, more) : 0.0);
}

function climb(v, t, last, time, inputs, forced, head) {
  let middle, more, most, step;
  most = Infinity;
  for (let step_1 = 0, end_1 = (2 * 16); step_1 < end_1; step_1 += 1) {
    step = step_1;
    if (((step === 16) && (last < Infinity))) {
      most = last;
      for (let __2 = 0, end_2 = 24; __2 < end_2; __2 += 1) {
        middle = ((t + most) / 2);
        if ((delay(v, middle, time, inputs, forced, head) > 0.0)) {
          t = middle;
        } else {
          most = middle;
        }
      }
    }
    more = delay(v, t, time, inputs, forced, head);
    if ((more <= (t * 1e-12))) {
      return t;
    }
    t = $min((t + more), last);
    if ((t >= most)) {
      return most;
    }
  }
  return t;
}

function dominator(v, inputs, between) {
  let i, u, w;
  u = (-1);
  for (let i_1 = inputs.ptr[v], end_1 = inputs.ptr[(v + 1)]; i_1 < end_1; i_1 += 1) {
    i = i_1;
    w = inputs.op[i];
    if ((i === inputs.ptr[v])) {
      u = w;
    }
    if ((between.first[u] !== between.first[w])) {
      between.first[v] = v;
      return (-1);
    }
    while ((u !== w)) {
      if ((u > w)) {
        u = between.before[u];
      } else {
        w = between.before[w];
      }
    }
  }
  between.first[v] = ((u >= 0) ? between.first[u] : v);
  return u;
}

function gather_between(u, v, inputs, forced, between) {
  let count, i, j, most, size, w, x;
  count = 0;
  size = 0;
  w = v;
  most = between.op.length;
  while (true) {
    for (let i_2 = inputs.ptr[w], end_2 = inputs.ptr[(w + 1)]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      x = inputs.op[i];
      if (((x === u) || (between.place[x] >= 0))) {
        continue;
      }
      if (((count + size) === most)) {
        for (let j_3 = 0, end_3 = count; j_3 < end_3; j_3 += 1) {
          j = j_3;
          between.place[between.op[j]] = (-1);
        }
        for (let j_4 = 0, end_4 = size; j_4 < end_4; j_4 += 1) {
          j = j_4;
          between.place[Math.trunc(forced.queue[((2 * j) + 1)])] = (-1);
        }
        return 0;
      }
      between.place[x] = 0;
      size = push_event(forced.queue, size, (-Number(x)), Number(x));
    }
    if ((size === 0)) {
      return count;
    }
    w = Math.trunc(forced.queue[1]);
    size = pop_event(forced.queue, size);
    between.place[w] = count;
    between.op[count] = w;
    count = (count + 1);
  }
}

function distances(u, v, count, time, inputs, between) {
  let cost, done, i, j, left, p, w;
  for (let j_1 = (count - 1), end_1 = (-1); j_1 > end_1; j_1 += -1) {
    j = j_1;
    w = between.op[j];
    between.time[j] = time[w];
    between.near[j] = 0.0;
    between.away[j] = 0.0;
    between.rest[j] = 0.0;
    between.back[j] = 0.0;
    for (let i_2 = inputs.ptr[w], end_2 = inputs.ptr[(w + 1)]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      cost = inputs.cost[i];
      if ((inputs.op[i] === u)) {
        between.away[j] = $max(between.away[j], cost);
        continue;
      }
      p = between.place[inputs.op[i]];
      done = (between.near[p] + between.time[p]);
      between.near[j] = $max(between.near[j], done);
      between.away[j] = $max(between.away[j], $min((done + cost), (between.away[p] + between.time[p])));
    }
  }
  for (let i_3 = inputs.ptr[v], end_3 = inputs.ptr[(v + 1)]; i_3 < end_3; i_3 += 1) {
    i = i_3;
    if ((inputs.op[i] !== u)) {
      p = between.place[inputs.op[i]];
      between.back[p] = $max(between.back[p], inputs.cost[i]);
    }
  }
  for (let j_4 = 0, end_4 = count; j_4 < end_4; j_4 += 1) {
    j = j_4;
    w = between.op[j];
    for (let i_5 = inputs.ptr[w], end_5 = inputs.ptr[(w + 1)]; i_5 < end_5; i_5 += 1) {
      i = i_5;
      if ((inputs.op[i] === u)) {
        continue;
      }
      p = between.place[inputs.op[i]];
      left = (between.time[j] + between.rest[j]);
      between.rest[p] = $max(between.rest[p], left);
      between.back[p] = $max(between.back[p], $min((inputs.cost[i] + left), (between.time[j] + between.back[j])));
    }
  }
}

function is_possible_apart(t, limit, count, forced, between) {
  let first, j, leave, reach, second, work;
  leave = between.back[0];
  reach = between.away[0];
  work = 0.0;
  first = 0;
  for (let j_1 = 0, end_1 = count; j_1 < end_1; j_1 += 1) {
    j = j_1;
    leave = $min(leave, between.back[j]);
    reach = $min(reach, between.away[j]);
    if ((((between.away[j] + between.time[j]) + between.back[j]) <= limit)) {
      continue;
    }
    work = (work + between.time[j]);
    if ((((between.away[j] + between.time[j]) + between.rest[j]) > limit)) {
      if ((((between.near[j] + between.time[j]) + between.back[j]) > limit)) {
        return false;
      }
      forced.op[first] = j;
      forced.until[first] = (t - between.back[j]);
      first = (first + 1);
    }
  }
  if ((work > (($max((t - leave), 0.0) + $max((t - reach), 0.0)) * (1 + 1e-12)))) {
    return false;
  }
  if (((first > 0) && (lateness(first, between.time, forced, between.near) > (t * 1e-12)))) {
    return false;
  }
  second = 0;
  for (let j_2 = 0, end_2 = count; j_2 < end_2; j_2 += 1) {
    j = j_2;
    if ((((between.away[j] + between.time[j]) + between.back[j]) <= limit)) {
      continue;
    }
    if ((((between.near[j] + between.time[j]) + between.back[j]) > limit)) {
      forced.op[second] = j;
      forced.until[second] = (t - between.rest[j]);
      second = (second + 1);
    }
  }
  return ((second === 0) || (lateness(second, between.time, forced, between.away) <= (t * 1e-12)));
}

function is_possible(t, count, forced, between) {
  let held, j, limit;
  limit = (t * (1 + 1e-12));
  held = 0;
  for (let j_1 = 0, end_1 = count; j_1 < end_1; j_1 += 1) {
    j = j_1;
    if ((((between.away[j] + between.time[j]) + between.back[j]) > limit)) {
      forced.op[held] = j;
      forced.until[held] = (t - between.rest[j]);
      held = (held + 1);
    }
  }
  if (((held === 0) || (lateness(held, between.time, forced, between.near) <= (t * 1e-12)))) {
    return true;
  }
  return is_possible_apart(t, limit, count, forced, between);
}

function least_between(u, v, time, inputs, forced, between) {
  let count, high, j, low, middle;
  count = gather_between(u, v, inputs, forced, between);
  if ((count === 0)) {
    return 0.0;
  }
  distances(u, v, count, time, inputs, between);
  low = 0.0;
  high = 0.0;
  for (let j_1 = 0, end_1 = count; j_1 < end_1; j_1 += 1) {
    j = j_1;
    low = $max(low, ((between.near[j] + between.time[j]) + between.rest[j]));
    high = (high + between.time[j]);
  }
  if (is_possible(low, count, forced, between)) {
    low = $max(low, 0.0);
    high = low;
  }
  for (let __2 = 0, end_2 = ((high > low) ? 32 : 0); __2 < end_2; __2 += 1) {
    middle = ((low + high) / 2);
    if (is_possible(middle, count, forced, between)) {
      high = middle;
    } else {
      low = middle;
    }
  }
  for (let j_3 = 0, end_3 = count; j_3 < end_3; j_3 += 1) {
    j = j_3;
    between.place[between.op[j]] = (-1);
  }
  return low;
}

function heads(time, inputs, forced, between, head) {
  let first, i, last, ready, u, v;
  for (let v_1 = 0, end_1 = time.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    first = 0.0;
    last = 0.0;
    for (let i_2 = inputs.ptr[v], end_2 = inputs.ptr[(v + 1)]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      ready = (head[inputs.op[i]] + time[inputs.op[i]]);
      first = $max(first, (ready + inputs.always[i]));
      last = $max(last, (ready + inputs.cost[i]));
    }
    head[v] = ((last > (first * (1 + 1e-12))) ? climb(v, first, last, time, inputs, forced, head) : first);
    between.place[v] = (-1);
    between.span[v] = 0.0;
    between.before[v] = dominator(v, inputs, between);
    u = between.before[v];
    if (((u >= 0) && ((inputs.ptr[(v + 1)] - inputs.ptr[v]) > 1))) {
      between.span[v] = least_between(u, v, time, inputs, forced, between);
      head[v] = $max(head[v], ((head[u] + time[u]) + between.span[v]));
    }
  }
}

function least_span(order, head, place, tail, work, most, added) {
  let i, leaves, node, span, v;
  leaves = Math.floor(most.length / 2);
  for (let i_1 = 0, end_1 = (2 * leaves); i_1 < end_1; i_1 += 1) {
    i = i_1;
    most[i] = (-Infinity);
    added[i] = 0.0;
  }
  span = 0.0;
  for (let i_2 = 0, end_2 = order.length; i_2 < end_2; i_2 += 1) {
    i = i_2;
    v = order[i];
    node = (leaves + place[v]);
    added[node] = (added[node] + work[v]);
    most[node] = (tail[place[v]] + added[node]);
    while ((node > 1)) {
      if ((node % 2)) {
        most[(node - 1)] = (most[(node - 1)] + work[v]);
        added[(node - 1)] = (added[(node - 1)] + work[v]);
      }
      node = (node >> 1);
      most[node] = ($max(most[(2 * node)], most[((2 * node) + 1)]) + added[node]);
    }
    span = $max(span, (head[v] + most[1]));
  }
  return span;
}

function least_times(times, eligible, fastest, least) {
  let c, d, k, v;
  k = times.divisor.length;
  if ((eligible.stride > 0)) {
    for (let v_1 = 0, end_1 = least.length; v_1 < end_1; v_1 += 1) {
      v = v_1;
      least[v] = Infinity;
      for (let d_2 = 0, end_2 = k; d_2 < end_2; d_2 += 1) {
        d = d_2;
        if (may_run(v, d, eligible)) {
          least[v] = $min(least[v], exec_time(v, d, times));
        }
      }
    }
    return;
  }
  for (let c_3 = 0, end_3 = times.columns; c_3 < end_3; c_3 += 1) {
    c = c_3;
    fastest[c] = 0.0;
  }
  for (let d_4 = 0, end_4 = k; d_4 < end_4; d_4 += 1) {
    d = d_4;
    fastest[times.column[d]] = $max(fastest[times.column[d]], times.divisor[d]);
  }
  for (let v_5 = 0, end_5 = least.length; v_5 < end_5; v_5 += 1) {
    v = v_5;
    least[v] = Infinity;
    for (let c_6 = 0, end_6 = times.columns; c_6 < end_6; c_6 += 1) {
      c = c_6;
      least[v] = $min(least[v], (times.cost[((v * times.columns) + c)] / fastest[c]));
    }
  }
}

function least_transfers(pair, ptr, latency, rate, apart, together, size, cost, always) {
  let e, i, least, p;
  for (let e_1 = 0, end_1 = cost.length; e_1 < end_1; e_1 += 1) {
    e = e_1;
    p = pair[e];
    least = Infinity;
    for (let i_2 = ptr[p], end_2 = ptr[(p + 1)]; i_2 < end_2; i_2 += 1) {
      i = i_2;
      least = $min(least, (latency[i] + (size[e] / rate[i])));
    }
    if ((apart[p] !== 0)) {
      always[e] = least;
    }
    cost[e] = ((together[e] !== 0) ? Infinity : least);
  }
}

function longest_window(head, time, tail) {
  let longest, v;
  longest = 0.0;
  for (let v_1 = 0, end_1 = time.length; v_1 < end_1; v_1 += 1) {
    v = v_1;
    longest = $max(longest, ((head[v] + time[v]) + tail[v]));
  }
  return longest;
}

function first_gap(start, finish, first, last, ready, took, rounding) {
  let behind, free, i, n;
  n = start.length;
  for (let i_1 = first, end_1 = (last + 1); i_1 < end_1; i_1 += 1) {
    i = i_1;
    free = $max(((i > 0) ? finish[(i - 1)] : 0.0), ready);
    if (((i === n) || ((free + took) <= (start[i] * (1.0 + rounding))))) {
      return i;
    }
  }
  behind = 0;
  for (let i_2 = 0, end_2 = n; i_2 < end_2; i_2 += 1) {
    i = i_2;
    if ((start[i] < ready)) {
      behind = (behind + 1);
    }
  }
  return $min($max(behind, first), $max(last, first));
}

function shorter(makespans, tried, least, saves) {
  let best, i;
  best = (-1);
  for (let i_1 = 0, end_1 = makespans.length; i_1 < end_1; i_1 += 1) {
    i = i_1;
    if (((tried[i] === 0) && (makespans[i] < (least * (1.0 - saves))) && ((best < 0) || (makespans[i] < makespans[best])))) {
      best = i;
    }
  }
  return best;
}

export { sum_of, row_means, mean_times, mean_transfer, total_times, durations, delays, speed_ups, add_by, decimal_places, longest_time, decimal_unit, whole_again, path_by_means, device_of_path, memory_waits, queue_bases, in_sequence, upward, downward, round_to_steps, join_across_borders, precedence_order, in_order, as_ready, earliest_first, optimistic_cost, choose_ready, choose_least, one_by_one, path_computation_time, group_transfers, run_events, link_items, walk_back, idle_gaps, memory_changes, memory_levels, mark_before_and_behind, order_all, heads, least_span, least_times, least_transfers, longest_window, first_gap, shorter };
