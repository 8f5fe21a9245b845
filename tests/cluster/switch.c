// A network switch that delays and loses frames: switch HOSTS DELAY_US LOSS_PPM MEGABITS
//
// Makes the tap devices lag0 …, one a host, which the caller moves to the hosts. Every frame leaves DELAY_US after it came
// and after the frames before it on the same device, which sends MEGABITS a second (0: without limit); of a million frames,
// LOSS_PPM are lost. The kernel's own means (netem) is not in every kernel.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { most_hosts = 16, queue_length = 1 << 14, frame_bytes = 1600, batch = 32 };

typedef struct {
  uint64_t due;  // ns
  int from, bytes;
  unsigned char data[frame_bytes];
} Frame;

static Frame queue[queue_length];
static unsigned head, tail;  // the next frame to come, and to leave
static int hosts, taps[most_hosts];
static unsigned char address[most_hosts][6];

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void open_tap(int host) {
  struct ifreq request = {0};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  snprintf(request.ifr_name, sizeof request.ifr_name, "lag%d", host);
  taps[host] = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (taps[host] < 0 || ioctl(taps[host], TUNSETIFF, &request) != 0) {
    perror("switch: /dev/net/tun");
    exit(1);
  }
}

static void receive(int host, uint64_t delay, unsigned loss, double megabits) {
  static uint64_t free_at[most_hosts];
  for (int i = 0; i < batch && head - tail < queue_length; ++i) {
    Frame* frame = &queue[head % queue_length];
    frame->bytes = (int)read(taps[host], frame->data, frame_bytes);
    if (frame->bytes <= 0) return;
    memcpy(address[host], frame->data + 6, 6);
    if (loss && (unsigned)(random() % 1000000) < loss) continue;
    uint64_t sent = now();
    if (megabits > 0) {
      if (free_at[host] < sent) free_at[host] = sent;
      sent = free_at[host] += (uint64_t)(frame->bytes * 8000 / megabits);
    }
    frame->due = sent + delay;
    uint64_t last = head != tail ? queue[(head - 1) % queue_length].due : 0;
    if (frame->due < last) frame->due = last;
    frame->from = host;
    ++head;
  }
}

static void send_frame(const Frame* frame) {
  int to = -1;
  for (int host = 0; host < hosts; ++host)
    if (host != frame->from && memcmp(address[host], frame->data, 6) == 0) to = host;
  for (int host = 0; host < hosts; ++host)
    if (host == to || (to < 0 && host != frame->from))
      if (write(taps[host], frame->data, frame->bytes) < 0) continue;  // its host is not up, or its queue is full
}

int main(int count, char** words) {
  if (count != 5 || (hosts = atoi(words[1])) < 1 || hosts > most_hosts) return 2;
  uint64_t delay = strtoull(words[2], NULL, 10) * 1000;
  unsigned loss = (unsigned)atoi(words[3]);
  double megabits = atof(words[4]);
  struct pollfd wait[most_hosts + 1];
  for (int host = 0; host < hosts; ++host) {
    open_tap(host);
    wait[host] = (struct pollfd){taps[host], POLLIN, 0};
  }
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  wait[hosts] = (struct pollfd){timer, POLLIN, 0};
  puts("up");
  fflush(stdout);
  for (;;) {
    uint64_t due = head != tail ? queue[tail % queue_length].due : 0, ticks;
    struct itimerspec alarm = {{0, 0}, {(time_t)(due / 1000000000), (long)(due % 1000000000)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &alarm, NULL);
    poll(wait, hosts + 1, -1);
    if (read(timer, &ticks, sizeof ticks) < 0) ticks = 0;
    for (int host = 0; host < hosts; ++host) receive(host, delay, loss, megabits);
    for (; head != tail && queue[tail % queue_length].due <= now(); ++tail) send_frame(&queue[tail % queue_length]);
  }
}
